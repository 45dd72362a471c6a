"""Names of torch.futures, written by tools/surface.py."""
TABLE = r"""
futures/ Future@jit collect_all() wait_all()
"""  # noqa: E501
