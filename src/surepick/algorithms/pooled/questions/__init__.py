"""What can be asked about candidates: one question per file, all of them answered by bets."""
