"""Operators that take functions: scans, branches, loops."""
import kindling as _kindling

__getattr__, __dir__ = _kindling._lazy_parts(globals(), {"associative_scan": "associative_scan", "cond": "_branches", "while_loop": "_branches"},
                                             ("associative_scan", "_branches"), ("associative_scan",))
