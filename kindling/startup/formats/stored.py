"""``--from-log FILE`` and ``--from-json FILE``: every report of what was measured before, nothing is run."""

from .. import cli, model
from . import Refused

OPTIONS = [
    (
        "--from-log",
        "FILE",
        "report a log of python -X importtime (or PYTHONPROFILEIMPORTTIME=1) and run nothing; - is stdin",
    ),
    ("--from-json", "FILE", "report a measurement stored by --json and run nothing"),
]


def standalone(options):
    """Read it, write the reports, return the exit status."""
    log, path = options.given.get("--from-log"), options.given.get("--from-json")
    if log and path:
        raise Refused("--from-log and --from-json: one of them")
    if options.words:
        raise Refused(f"--from-{'log' if log else 'json'} runs nothing, so {options.words[0]!r} is too much")
    if log:
        from .. import importtime

        data = importtime.read(log)
    else:
        try:
            data = model.load(path)
        except OSError as error:
            raise Refused(f"{path} can't be read: {error.strerror}") from None
        except ValueError as error:
            raise Refused(str(error)) from None
    return cli.deliver(data, options, cli.reports())


def write(data, options):
    """Nothing of its own."""
