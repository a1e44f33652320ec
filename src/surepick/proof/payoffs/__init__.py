"""What a round pays those who bet: a kind of number, or a table, in each file; kernels beside."""
