"""The ``kindling`` command. ``run`` is on the start-up path; everything else is imported when it is asked for."""

import sys

USAGE = """\
usage: kindling run SCRIPT [ARG...]      run a program that says `import torch`
       kindling run -m MODULE [ARG...]   the same for a module or package
       kindling run -c CODE [ARG...]     the same for a piece of code
       kindling startup [OPTION...] SCRIPT | -m MODULE | -c CODE [ARG...]
                                         what the start of any Python program costs; see kindling startup --help
       kindling doctor [--json]          what was found, opened and chosen on this machine
       kindling --version
       kindling --help

In a program started by `kindling run`, every `torch` and `torch.x.y` is Kindling; child interpreters and
DataLoader workers included. Interpreter options go to python itself: python -X dev -m kindling run SCRIPT.
"""


def main(argv=None):
    """Run the command line ``argv`` (``sys.argv[1:]`` by default); leaves through SystemExit with the exit code."""
    if argv is None:
        argv = sys.argv[1:]
    command = argv[0] if argv else ""
    if command in ("--help", "-h", "help") or command == "run" and argv[1:2] in (["-h"], ["--help"]):
        sys.stdout.write(USAGE)
        return None
    if command == "run":
        from kindling._start.runner import run

        return run(argv[1:])
    if command in ("--version", "-V"):
        from kindling.version import api, release

        sys.stdout.write(f"kindling {release} (API of PyTorch {api})\n")
        return None
    if command == "doctor":
        from kindling._start.doctor import main as doctor

        return doctor(argv[1:])
    if command == "startup":
        from kindling.startup.cli import main as startup

        return startup(argv[1:])
    sys.stderr.write((f"kindling: there is no command {command!r}\n\n" if command else "") + USAGE)
    raise SystemExit(2)
