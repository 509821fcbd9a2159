"""Follow the regularised leader: best of both worlds."""
