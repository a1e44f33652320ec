"""Comparing algorithms: a plan of trials, its parallel run, suites and their standings."""
