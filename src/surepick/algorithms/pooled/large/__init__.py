"""Planner and market for very many candidates: block by block, on any array library."""
