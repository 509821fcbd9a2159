"""How the runs behind a claim are played: instances, run grids, observed runs, processes."""
