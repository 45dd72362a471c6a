"""From a constraint to a transform into it."""
from kindling.distributions import constraints, transforms
from kindling.distributions.utils import _Number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Finds a transform from unconstrained space into a constraint, by the constraint's class.

    `register(constraint, factory)` (or as a decorator) adds one; NotImplementedError for a class that has none.
    """

    def __init__(self):
        self._registry = {}
        super().__init__()

    def register(self, constraint, factory=None):
        """Registers `factory(constraint)` for the class of a constraint; TypeError for anything else."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError("Expected constraint to be either a Constraint subclass or instance, but got "
                            f"{constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint):
        """The transform for a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds):
    def decorate(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory
    return decorate


@_both(constraints.real)
def _real(constraint):
    return transforms.identity_transform


@_both(constraints.positive, constraints.nonnegative)
def _positive(constraint):
    return transforms.ExpTransform()


@_both(constraints.greater_than, constraints.greater_than_eq)
def _greater(constraint):
    # Also for "positive", whose bound of zero is of the same class.
    return transforms.ComposeTransform([transforms.ExpTransform(),
                                        transforms.AffineTransform(constraint.lower_bound, 1)])


@_both(constraints.less_than)
def _less(constraint):
    return transforms.ComposeTransform([transforms.ExpTransform(),
                                        transforms.AffineTransform(constraint.upper_bound, -1)])


@_both(constraints.interval, constraints.half_open_interval)
def _interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, _Number) and low == 0 and isinstance(high, _Number) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@_both(constraints.corr_cholesky)
def _corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda constraint: transforms.PositiveDefiniteTransform())


def _compound(registry):
    @registry.register(constraints.independent)
    def independent(constraint):
        return transforms.IndependentTransform(registry(constraint.base_constraint),
                                               constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def cat(constraint):
        return transforms.CatTransform([registry(each) for each in constraint.cseq], constraint.dim,
                                       constraint.lengths)

    @registry.register(constraints.stack)
    def stack(constraint):
        return transforms.StackTransform([registry(each) for each in constraint.cseq], constraint.dim)


_compound(biject_to)
_compound(transform_to)
