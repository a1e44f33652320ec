"""What bets pay under each kind of noise, worked out again."""
