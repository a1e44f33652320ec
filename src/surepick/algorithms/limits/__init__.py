"""Which option is the best of those that keep limits on further numbers?"""
