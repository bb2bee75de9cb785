"""Ways to use nestling from outside Python."""
