"""PooledPeleg: bets that pool the evidence of all blocks."""
