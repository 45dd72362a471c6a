"""Names of torch.quasirandom, written by tools/surface.py."""
TABLE = r"""
quasirandom SobolEngine:draw,draw_base2,fast_forward,reset
"""  # noqa: E501
