"""Planner and market for problems that fit the compiled kernels."""
