import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import parity


@pytest.mark.parametrize("name", parity.NAMES)
def test_losses_equal_those_of_torch(name):
    difference, step = parity.largest_difference(name)
    assert difference < parity.TOLERANCE, f"step {step + 1} differs by {difference:.2e}"
