"""Studies of traffic: visitors are sent by shares, and reported as counts, period by period."""
