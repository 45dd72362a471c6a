"""Passes over graphs."""
from kindling.fx.passes import infra as infra
from kindling.fx.passes import utils as utils
