"""opt_einsum: contraction orders for einsum.  Not in this build: operands are contracted from left to right."""

enabled = False
strategy = None


def is_available():
    """Whether opt_einsum is used: no."""
    return False


def get_opt_einsum():
    """The module: None."""
    return None
