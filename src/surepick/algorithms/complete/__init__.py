"""Options on a finite set of items, each cell measured at most once."""
