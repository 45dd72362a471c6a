"""Marks of what stays as it is between releases."""
_BACK_COMPAT_OBJECTS = {}
_MARKED_WITH_COMPATIBILITY = {}


def compatibility(*, is_backward_compatible):
    """A decorator that leaves what it decorates as it is, and remembers it."""
    def mark(function):
        _MARKED_WITH_COMPATIBILITY.setdefault(function)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(function)
        return function
    return mark
