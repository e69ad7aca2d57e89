"""A conversation of four months, replayed with a simulated clock; and a terminal to talk in."""
