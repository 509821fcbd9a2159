"""Learners, worlds and losses of your own, by the names that specs give them."""
