"""Files: the package's archive, atomic replacement, plain files only."""
