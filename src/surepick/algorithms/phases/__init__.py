"""Elimination in phases that forget: PELEG, RAGE, XY-adaptive."""
