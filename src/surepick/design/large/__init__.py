"""Designs for more arms or directions than can be looked at all the time."""
