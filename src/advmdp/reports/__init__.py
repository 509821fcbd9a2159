"""What people look at: pictures, tables and progress.  Nothing here plays an episode."""
