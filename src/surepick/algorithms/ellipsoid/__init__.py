"""Algorithms that stop by a confidence ellipsoid: LinGapE, GLUCB."""
