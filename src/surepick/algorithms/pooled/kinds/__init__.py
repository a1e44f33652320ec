"""Evidence under each kind of noise: what a block is read for, and what bets on it pay."""
