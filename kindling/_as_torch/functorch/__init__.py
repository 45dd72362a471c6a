"""What a child interpreter of `kindling run` finds as `functorch`: it gives way to Kindling's, as `torch` beside it does."""


def _give_way():
    import os
    import sys

    del sys.modules["functorch"]
    __import__("torch")         # that of beside this file puts the alias in place, which answers for functorch too
    if "kindling._start.alias" not in sys.modules:
        here = os.path.dirname(os.path.dirname(__file__))
        sys.path[:] = [entry for entry in sys.path if entry != here]
    __import__("functorch")


_give_way()
