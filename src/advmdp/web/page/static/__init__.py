"""Style and scripts of the page; there is no build step."""
