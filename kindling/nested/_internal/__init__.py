"""The classes of nested tensors and the operators on them."""
