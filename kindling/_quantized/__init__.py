"""Quantised tensors and operators of them."""
