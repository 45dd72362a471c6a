"""``python -m kindling``: the same as the ``kindling`` command."""

from kindling._start.cli import main

if __name__ == "__main__":
    main()
