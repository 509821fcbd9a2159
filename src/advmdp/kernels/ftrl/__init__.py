"""Follow the regularised leader over the occupancy measures of one transition function."""
