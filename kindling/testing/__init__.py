"""Comparison of values and random tensors for tests: ``assert_close``, ``make_tensor``."""
from kindling.testing._comparison import assert_allclose as assert_allclose
from kindling.testing._comparison import assert_close as assert_close
from kindling.testing._creation import make_tensor as make_tensor
