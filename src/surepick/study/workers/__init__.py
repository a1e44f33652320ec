"""Measuring: workers in threads, commands that print a number."""
