"""Handing out pulls and taking in rewards: leases, order, crowds, and rebuilding from the log."""
