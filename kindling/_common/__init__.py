"""Small things that many parts of the package use; each imports nothing of it."""
