"""What is done differently where arms or directions are too many to be looked at all the time."""
