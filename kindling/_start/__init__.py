"""What starts the package, and the programs that run on it."""
