"""Small things about modes."""


def all_same_mode(modes):
    """Whether all modes are equal."""
    return all(tuple(mode == modes[0] for mode in modes))


class no_dispatch:
    """A `with` block in which no `__torch_dispatch__` is asked."""

    def __enter__(self):
        from kindling.utils._python_dispatch import _disable_current_modes
        self.block = _disable_current_modes()
        self.block.__enter__()

    def __exit__(self, *error):
        return self.block.__exit__(*error)
