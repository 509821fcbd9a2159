"""Parts that a user could add to the package from a module of their own."""
