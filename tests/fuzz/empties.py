"""Calls every declared operator in PyTorch and in Kindling with empty tensors of every stride pattern, and compares.

    python tests/fuzz/empties.py --count 20000 --seed 1

What is compared and what is a fault is as in differences.py; the tensors are those of hollow.py. `arguments.py --empty` makes
such calls in Kindling alone.
"""
import sys

import differences
from hollow import Empty

class FinerEmpty(differences.Finer, Empty):
    pass


class NudgedEmpty(differences.Nudged, Empty):
    pass


class Empties(differences.Comparer):
    drawing, finer, nudged = Empty, FinerEmpty, NudgedEmpty


if __name__ == "__main__":
    sys.exit(differences.main(__file__, Empties, __doc__))
