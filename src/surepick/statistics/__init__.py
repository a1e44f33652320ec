"""Statistics that know nothing of a problem: least squares, payoffs of bets, mixtures."""
