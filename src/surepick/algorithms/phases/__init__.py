"""Elimination in phases that each use their own measurements only: PELEG, RAGE, XY-adaptive."""
