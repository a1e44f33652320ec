"""Processes that start at once: copies of one that has loaded everything they need.

Loading surepick with its compiled code and a database driver takes a process about a second, and
the tests start hundreds of them. ``parent`` loads it once; ``client`` asks it for a copy that
runs the command line or a page of the documentation, with the folder, environment and files of
whoever asked. Such a copy is a process of its own, to be stopped and killed like any other. What
it does not show is how a process starts: tests of that start one themselves.
"""
