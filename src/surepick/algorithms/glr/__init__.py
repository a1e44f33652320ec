"""Algorithms that stop by a generalised likelihood ratio.

LinGame, Lazy Track-and-Stop, FWS, uniform.
"""
