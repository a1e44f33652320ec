"""The paper's experiments, and the check of error rates: resumable tasks, then tables."""
