"""Allocations fixed in advance: XY-static, XY-oracle."""
