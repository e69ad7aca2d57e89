"""A conversation of four months, replayed to a bank with a simulated clock."""
