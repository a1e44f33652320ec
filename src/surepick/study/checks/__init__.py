"""What the rewards of a study say about its assumptions: fit, drift, noise, failures."""
