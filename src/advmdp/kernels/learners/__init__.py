"""One update per family of learners."""
