"""Statistics that know nothing of a problem: least squares, fits, tests beside the proofs."""
