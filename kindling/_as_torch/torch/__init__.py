"""What a child interpreter of `kindling run` finds as `torch`: it gives way to Kindling.

This folder's parent is in PYTHONPATH of the processes that a program under the alias starts. Where the child asks for
the real torch (KINDLING_AS_TORCH=0), or is an interpreter without Kindling, the next `torch` on the path is taken.
"""


def _give_way():
    import os
    import sys

    here = os.path.dirname(os.path.dirname(__file__))
    del sys.modules["torch"]
    if os.environ.get("KINDLING_AS_TORCH", "1") != "0":
        try:
            from kindling._start.alias import install_as_torch
        except ModuleNotFoundError as error:
            if error.name != "kindling":
                raise
        else:
            install_as_torch()
            return
    sys.path[:] = [entry for entry in sys.path if entry != here]
    __import__("torch")


_give_way()
