"""``KINDLING_EAGER_IMPORT``: lazy names imported at once, so that what laziness saves can be measured."""


def load(package, wanted):
    """Import every name of ``dir(package)`` for ``"1"``, nothing for ``"0"`` and ``""``, else those in a comma-separated
    list, dotted ones below the package. ImportError names what is not there."""
    if wanted in ("", "0"):
        return
    for name in dir(package) if wanted == "1" else wanted.split(","):
        try:
            _find(package, name.strip().removeprefix("kindling."))
        except (AttributeError, ImportError) as error:
            if wanted != "1":  # of all names, some are there to say that they are not supported
                raise ImportError(f"KINDLING_EAGER_IMPORT={wanted}: {name.strip()!r} is not to be had: {error}") from None


def _find(value, path):
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            if not hasattr(value, "__path__"):
                raise
            __import__(f"{value.__name__}.{part}")
            value = getattr(value, part)
