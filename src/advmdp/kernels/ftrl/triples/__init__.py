"""Regularisers on triples, over the transitions of a set."""
