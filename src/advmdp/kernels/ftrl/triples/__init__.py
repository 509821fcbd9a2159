"""The log barrier on triples, over the transitions of a box."""
