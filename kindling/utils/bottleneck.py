"""``python -m torch.utils.bottleneck script.py``: where a program's time goes, by Python's profiler and by that of operators.

``main`` is that command.
"""

DESCRIPTION = """\
`bottleneck` is a tool that can be used as an initial step for debugging
bottlenecks in your program.

It summarizes runs of your script with the Python profiler and PyTorch's
autograd profiler. Because your script will be profiled, please ensure that it
exits in a finite amount of time.

For more complicated uses of the profilers, please see
https://docs.python.org/3/library/profile.html and
https://pytorch.org/docs/main/autograd.html#profiler for more information."""
RULE = "-" * 80
TOP = 15


def main(argv=None):
    """Runs ``script.py [ARG...]`` twice, under cProfile and under the autograd profiler, and prints what took longest in each.

    The script's own output comes first. Exit status: that of the script, 2 for a script that is not there.
    """
    import argparse
    import os
    import sys

    parser = argparse.ArgumentParser(prog="python -m torch.utils.bottleneck", description=DESCRIPTION,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scriptfile", help="Path to the script to be run. Usually run with `python path/to/script`.")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="Command-line arguments to be passed to the script.")
    given = parser.parse_args(argv)
    try:
        with open(given.scriptfile, "rb") as file:
            code = compile(file.read(), given.scriptfile, "exec", dont_inherit=True)
    except OSError as error:
        parser.error(f"can't open {given.scriptfile}: {error.strerror}")

    import kindling
    if "torch" not in sys.modules:  # python -m kindling.utils.bottleneck: the script may still say `import torch`
        kindling.install_as_torch()
    sys.argv[:] = [given.scriptfile, *given.args]
    sys.path.insert(0, os.path.dirname(given.scriptfile))
    print(DESCRIPTION)
    print("Running environment analysis...")
    summary = _environment()
    status = 0
    print("Running your script with cProfile")
    import cProfile
    python = cProfile.Profile()
    status = _run(code, given.scriptfile, python.runctx) or status
    print("Running your script with the autograd profiler...")
    operators = kindling.autograd.profiler.profile()
    status = _run(code, given.scriptfile, _under(operators)) or status
    print(f"{RULE}\n  Environment Summary\n{RULE}\n{summary}")
    print(f"{RULE}\n  cProfile output\n{RULE}")
    import pstats
    pstats.Stats(python).sort_stats("tottime").print_stats(TOP)
    table = operators.table(sort_by="cpu_time_total", row_limit=TOP)
    print(f"{RULE}\n  autograd profiler output (CPU mode)\n{RULE}\n        top {TOP} events sorted by cpu_time_total\n\n{table}")
    if status:
        raise SystemExit(status)


def _under(profiler):
    def run(code, space, _):
        with profiler:
            exec(code, space)
    return run


def _run(code, path, run):
    """The script as ``__main__``, in a name space of its own each time; its exit status. Other exceptions end the command."""
    import sys

    module = type(sys)("__main__")
    module.__dict__.update(__file__=path, __package__=None, __cached__=None)
    before, sys.modules["__main__"] = sys.modules["__main__"], module
    try:
        run(code, module.__dict__, None)
    except SystemExit as error:
        return error.code
    finally:
        sys.modules["__main__"] = before
    return 0


def _environment():
    """What is installed here and bears on numbers and speed."""
    import sys
    from importlib import metadata

    import kindling

    words = ("torch", "kindling", "numpy", "openblas", "mypy", "flake8", "triton", "optree", "onnx")
    found = {f"{each.metadata['Name']}=={each.version}" for each in metadata.distributions()
             if any(word in (each.metadata["Name"] or "").lower() for word in words)}
    packages = "\n".join(sorted(found)) or "Unable to fetch"
    return (f"PyTorch {kindling.__version__} not compiled w/ CUDA\n"
            f"Running with Python {sys.version_info[0]}.{sys.version_info[1]} and CUDA unavailable\n\n"
            f"`pip3 list` truncated output:\n{packages}")


if __name__ == "__main__":
    main()
