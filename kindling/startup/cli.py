"""``kindling startup``: options, the measurement, the reports."""

import sys

USAGE = """\
usage: kindling startup [OPTION...] -c CODE [ARG...] | -m MODULE [ARG...] | SCRIPT [ARG...]

Runs the program in fresh processes and reports what its start costs. The report goes to stdout, the program's own output
to stderr (of the first run). Exit status: that of the program; 124 when it was stopped at the time limit, 3 for a budget
that does not hold, 2 for wrong options.

  --repeat N           rounds of bare, recorded and empty runs; the least is reported, medians are in the JSON
                       (default: 3, and more for short programs)
  --timeout SECONDS    stop the program after so long and report what was seen (default 60)
  --python PATH        the interpreter to run (default: the one that a script's first line names by path,
                       else this one)
  --unlazy NAME        have Kindling import these lazy names at once (a comma-separated list; 1 is all of them), so that a
                       comparison with a run without shows what laziness saves; sets KINDLING_EAGER_IMPORT
  --cold               runs with the files' pages evicted from memory, and with an empty bytecode cache, too
  --registrations      operators declared and kernels registered with torch's dispatcher (or Kindling's), and by which files
  --native-stacks HZ   samples of the C and Python stacks, in a run of its own
  --no-native          leave out the native side (libraries, relocation, constructors)
  --json FILE          write everything measured as JSON (docs/startup/schema.md); - is stdout
  --quiet              no report on the terminal
"""


class Options:
    """The parsed command line. Reports add attributes of their own under the names of their options."""

    def __init__(self):
        self.repeat, self.timeout, self.python, self.native, self.quiet = None, 60.0, None, True, False
        self.cold = self.registrations = False
        setattr(self, "native-stacks", 0)
        self.json = self.unlazy = None
        self.words = []
        self.reports = []  # (module, argument)


def reports():
    """The report modules in ``formats/``: each has ``OPTIONS``, a list of ``(option, metavar or None, help)``, and
    ``write(data, options)``, which is called when one of its options was given (the first one's default report is
    ``terminal``, called unless --quiet). Values are in ``options.given[option]``: the text, or True without metavar."""
    from importlib import import_module

    from pkgutil import iter_modules

    from . import formats

    return [import_module(f"{formats.__name__}.{found.name}") for found in iter_modules(formats.__path__)]


def complain(message):
    sys.stderr.write(f"kindling startup: {message}\n")
    raise SystemExit(2)


def parse(argv, modules):
    """``Options`` of the command line; leaves with status 2 and one line for what is wrong."""
    options = Options()
    options.given = {}
    known = {option: (module, metavar) for module in modules for option, metavar, _ in module.OPTIONS}
    own = {"--repeat": int, "--timeout": float, "--native-stacks": int, "--python": str, "--json": str, "--unlazy": str, "--no-native": None, "--quiet": None,
           "--cold": None, "--registrations": None}  # fmt: skip
    words = list(argv)
    while words:
        word = words[0]
        if word in ("-h", "--help"):
            sys.stdout.write(USAGE)
            for module in modules:
                for option, metavar, text in module.OPTIONS:
                    sys.stdout.write(f"  {option + (' ' + metavar if metavar else ''):<21}{text}\n")
            raise SystemExit(0)
        if not word.startswith("--") or word == "--":
            break
        words.pop(0)
        name, equals, value = word.partition("=")
        if name not in own and name not in known:
            complain(f"no option {name}; see kindling startup --help")
        kind = own[name] if name in own else (known[name][1] and str)
        if kind is None:
            if equals:
                complain(f"{name} takes no value")
            value = True
        else:
            if not equals:
                if not words:
                    complain(f"{name} needs a value")
                value = words.pop(0)
            try:
                value = kind(value)
            except ValueError:
                complain(f"{name} needs a number, not {value!r}")
        if name in own:
            if name == "--no-native":
                name, value = "--native", False
            setattr(options, name[2:], value)
        else:
            options.given[name] = value
    if words[:1] == ["--"]:
        words.pop(0)
    if options.repeat is not None and options.repeat < 1:
        complain("--repeat needs at least 1")
    options.words = words
    return options


def command_of(words):
    """What is run, as the schema's ``command``."""
    if not words:
        complain("what to run? -c CODE, -m MODULE or a script; see kindling startup --help")
    kind = words[0]
    if kind in ("-c", "-m"):
        if len(words) < 2:
            complain(f"{kind} needs an argument")
        return {"kind": kind, "what": words[1], "arguments": words[2:]}
    if kind.startswith("-") and kind != "-":
        complain(f"no option {kind}; options of kindling startup begin with two dashes, see --help")
    return {"kind": "script", "what": kind, "arguments": words[1:]}


def deliver(data, options, modules):
    """Write the JSON and the reports that were asked for; the first status of theirs that is not 0."""
    from . import formats, model

    status = 0
    try:
        if options.json:
            model.save(data, options.json)
        for module in sorted(modules, key=lambda module: not module.__name__.endswith(".terminal")):
            terminal = module.__name__.endswith(".terminal")
            if (terminal and not options.quiet and options.json != "-") or (
                not terminal and any(name in options.given for name, _, _ in module.OPTIONS)
            ):
                result = module.write(data, options)
                status = status or result or 0
        sys.stdout.flush()
    except BrokenPipeError:  # `| head`
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise SystemExit(141) from None
    except formats.Refused as error:
        complain(str(error))
    except OSError as error:
        complain(f"a report can't be written: {error}")
    return status


def main(argv):
    """Run the command; leaves through SystemExit with its status."""
    from . import cold, formats, measure, record, registrations, stacks

    modules = reports()
    options = parse(argv, modules)
    # Reports of stored measurements, comparisons and logs need no program: their module says so with `standalone`.
    for module in modules:
        run = getattr(module, "standalone", None)
        if run and any(name in options.given for name, _, _ in module.OPTIONS):
            try:
                status = run(options)
            except formats.Refused as error:
                complain(str(error))
            if status is not None:
                raise SystemExit(status)
    command = command_of(options.words)
    program = measure.Program(options.words, options.python, options.timeout, options.native)
    hertz = getattr(options, "native-stacks")
    if hertz and not (1 <= hertz <= 10000 and options.native):
        complain("--native-stacks needs a rate from 1 to 10000 a second, and the native side")
    if options.unlazy:
        program.environ["KINDLING_EAGER_IMPORT"] = options.unlazy
    try:
        data = record.record(program, options.repeat, command)
        if options.cold and not data["exit"]["timed_out"]:
            cold.measure(program, data, options.repeat or 3)
        if options.registrations and not data["exit"]["timed_out"]:
            registrations.measure(program, data)
        if hertz and not data["exit"]["timed_out"]:
            stacks.measure(program, data, hertz)
    except measure.StartupError as error:
        complain(str(error))
    for module in modules:
        improve = getattr(module, "improve", None)
        if improve and (getattr(module, "ALWAYS", False) or any(name in options.given for name, _, _ in module.OPTIONS)):
            try:
                improve(data, options, program)
            except (measure.StartupError, formats.Refused) as error:
                complain(str(error))
    status = deliver(data, options, modules)
    if data["exit"]["timed_out"]:
        raise SystemExit(124)
    raise SystemExit(data["exit"]["status"] or status)
