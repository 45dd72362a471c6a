"""``KINDLING_EAGER_IMPORT``: lazy names imported at once, so that what laziness saves can be measured."""


def load(package, wanted):
    """Import every name of ``dir(package)`` for ``"1"``, nothing for ``"0"`` and ``""``, else those in a comma-separated
    list, dotted ones below the package. ImportError names what is not there."""
    if wanted in ("", "0"):
        return
    for name in dir(package) if wanted == "1" else wanted.split(","):
        value = package
        for part in name.strip().removeprefix("kindling.").split("."):
            try:
                value = getattr(value, part)
            except AttributeError:
                try:
                    __import__(f"{value.__name__}.{part}")
                    value = getattr(value, part)
                except (AttributeError, ImportError):
                    if wanted == "1":
                        break  # a name that only raises, which asking for it as ever would show
                    raise ImportError(f"KINDLING_EAGER_IMPORT={wanted}: kindling has no {name.strip()!r}") from None
