"""Rules by which certificates rule candidates out; each file recomputes one of them."""
