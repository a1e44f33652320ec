"""Calls that cost and fail: when they may begin, what their errors mean, many of them at a time."""
