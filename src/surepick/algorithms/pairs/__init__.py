"""Options compared two at a time: purses, whom to compare, and the algorithm around them."""
