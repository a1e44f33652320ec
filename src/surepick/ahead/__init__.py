"""What lies ahead of a run: copies of it go on, on rewards drawn from what was measured so far."""
