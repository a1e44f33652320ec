"""PELEG and the algorithms it is compared with, to be read alone: one paper, one file.

The rest of surepick finds them by name, through the registry of :mod:`surepick.algorithms`. Files
named ``…_kernels`` are compiled; ``game`` is the two-player game that PELEG plays.
"""
