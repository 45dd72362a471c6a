"""The chi-squared distribution."""
from kindling.distributions import constraints
from kindling.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The distribution of the sum of `df` squared standard normal draws."""
    arg_constraints = {"df": constraints.positive}
    _batched = Gamma._batched

    def __init__(self, df, validate_args: bool | None = None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self):
        """The degrees of freedom."""
        return self.concentration * 2
