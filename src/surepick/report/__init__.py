"""Tables, plots and pages made of prepared data."""
