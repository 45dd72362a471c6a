"""Operators that are written in Python, and what torch.library makes operators of."""
