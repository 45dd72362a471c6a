"""What the fuzzers share: calls are made in child processes, so that one that dies, hangs or takes all memory is one call.

A tool is a class with `options(parser)`, `__init__(args)` and `call(number, report)`. `call` returns one word on how call
`number` went, or a Fault; `report`, where given, is told what is to be called before it is. The command that runs it has
--count, --seed, --only N (one call, told before it is made), --limit SECONDS. Its last line counts calls and faults.
"""
import argparse
import ast
import faulthandler
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

LOCAL = ("help", "tell", "count", "first", "only", "jobs", "chunk", "isas", "faults", "state", "seconds")


class Fault:
    """`kind` is what alike faults have in common, `subject` the operator, `text` the rest."""

    def __init__(self, kind, text="", subject=""):
        self.kind, self.text, self.subject = kind, text, subject


class Stage:
    """The file that says which call is under way, and in which module: read by the parent when a child has died."""

    def __init__(self, path=None):
        self.file = os.open(path, os.O_WRONLY) if path else None
        self.number = 0

    def __call__(self, name):
        if self.file is not None:
            os.pwrite(self.file, b"%12d %-8s" % (self.number, name.encode()), 0)


stage = Stage()


def limit_memory(megabytes):
    """A call that asks for more is refused by the system, so no machine is brought down."""
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        return  # its shadow is larger than any limit; the sanitizer has a limit of its own (in `environment`)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    import kindling
    kindling.set_cache_limit(64 << 20)      # a quarter of the machine's memory would leave the interpreter none
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), resource.RLIM_INFINITY))


def environment(isa, megabytes):
    options = [os.environ.get("ASAN_OPTIONS", ""), f"max_allocation_size_mb={megabytes}", "allocator_may_return_null=1"]
    return {**os.environ, "ASAN_OPTIONS": ":".join(filter(None, options)), **({"KINDLING_ISA": isa} if isa else {})}


def prepared(tool, args):
    faulthandler.enable()
    faulthandler.register(signal.SIGALRM, chain=True)
    made = tool(args)
    limit_memory(args.memory)
    return made


def work(tool, args):
    """The calls from --first on, in this process."""
    global stage
    stage = Stage(args.state)
    caller = prepared(tool, args)
    tally = Counter()
    for number in range(args.first, args.first + args.count):
        stage.number = number
        stage("")
        signal.alarm(args.limit)
        result = caller.call(number)
        if isinstance(result, Fault):
            print(f"FAULT {(number, result.kind, result.text, result.subject)!a}", flush=True)
            result = "fault"
        tally[result] += 1
        if number % 100 == 99:
            print(f"TALLY {dict(tally)!a}", flush=True)
            tally.clear()
    signal.alarm(0)
    print(f"TALLY {dict(tally)!a}", flush=True)


def one(tool, args):
    """One call, told before it is made."""
    caller = prepared(tool, args)
    signal.alarm(args.limit)
    result = caller.call(args.only, lambda text: print(text, flush=True))
    print(f"{result.kind}\n{result.text}" if isinstance(result, Fault) else result)
    return isinstance(result, Fault)


def on_stack(function, tool, args):
    """function(tool, args), in a thread with a stack of --stack kilobytes if there is to be one."""
    if not args.stack:
        return function(tool, args)
    results = []
    threading.stack_size(args.stack << 10)
    thread = threading.Thread(target=lambda: results.append(function(tool, args)))
    thread.start()
    thread.join()
    return results[0]


class Parent:
    """Runs the children and counts what they say."""

    def __init__(self, file, parser, args):
        self.file, self.parser, self.args = os.path.abspath(file), parser, args
        self.tally, self.kinds, self.subjects = Counter(), Counter(), {}

    def command(self, *more):
        words = [sys.executable, self.file]
        for action in self.parser._actions:
            value = getattr(self.args, action.dest, None)
            if action.dest in LOCAL or value in (None, False, "", 0):
                continue
            words += [action.option_strings[0]] + ([] if value is True else [value])
        return [str(word) for word in (*words, *more)]

    def fault(self, number, isa, kind, text="", subject=""):
        """Counts one; the first of each kind and subject is told."""
        self.kinds[kind] += 1
        subjects = self.subjects.setdefault(kind, Counter())
        subjects[subject] += 1
        if subjects[subject] == 1:
            print(f"call {number} of seed {self.args.seed}: {subject}{': ' if subject else ''}{kind}" + (f"\n  {text}" if text else ""))
            print(f"  repeat with: {f'KINDLING_ISA={isa} ' if isa else ''}{' '.join(self.command('--only', number))}", flush=True)

    def ranking(self):
        for kind, times in self.kinds.most_common():
            names = [f"{name} {count}" for name, count in self.subjects[kind].most_common() if name]
            more = f" ({', '.join(names[:6])}{f', and {len(names) - 6} more' if len(names) > 6 else ''})" if names else ""
            print(f"{times:6} times: {kind}{more}")

    def run(self):
        args, started = self.args, time.monotonic()
        told = started
        isas, end = args.isas.split(","), args.first + args.count
        waiting = [(first, min(args.chunk, end - first), isas[i % len(isas)]) for i, first in enumerate(range(args.first, end, args.chunk))]
        running, done = {}, 0

        def more():
            return waiting and self.kinds.total() < args.faults and not (args.seconds and time.monotonic() - started > args.seconds)

        with tempfile.TemporaryDirectory() as folder:
            while more() or running:
                while more() and len(running) < args.jobs:
                    first, count, isa = waiting.pop(0)
                    state, output = Path(folder, f"state{first}"), open(Path(folder, f"output{first}"), "w+")
                    state.write_text(f"{first:12}         ")
                    process = subprocess.Popen(self.command("--first", first, "--count", count, "--state", state),
                                               env=environment(isa, args.memory), stdout=output, stderr=subprocess.STDOUT)
                    running[process.pid] = process, first, count, isa, state, output
                pid = wait(running, told + args.tell)
                if pid is None:
                    told = time.monotonic()
                    under_way = sum(at(state) - first for _, first, _, _, state, _ in running.values())
                    print(f"{done + under_way} of {args.count} calls after {told - started:.0f} s, {self.kinds.total()} faults", file=sys.stderr, flush=True)
                    continue
                process, first, count, isa, state, output = running.pop(pid)
                output.seek(0)
                text = output.read()
                output.close()
                for line in text.splitlines():
                    if line.startswith("FAULT "):
                        number, *what = ast.literal_eval(line[6:])
                        self.fault(number, isa, *what)
                    elif line.startswith("TALLY "):
                        self.tally.update(ast.literal_eval(line[6:]))
                done += count
                if process.returncode:
                    number, _, where = state.read_text().strip().partition(" ")
                    number, where = int(number), where.strip()
                    left = first + count - number - 1
                    done -= left
                    if left:
                        waiting.insert(0, (number + 1, left, isa))
                    self.died(process.returncode, number, where, isa, text, first)
        if self.kinds.total() > 1:
            self.ranking()
        kinds = f" of {len(self.kinds)} kinds" if len(self.kinds) < self.kinds.total() else ""
        print(f"{done} calls in {time.monotonic() - started:.0f} s: {dict(self.tally)}, {self.kinds.total()} faults{kinds}", flush=True)

    def alone(self, first, number, isa):
        """Whether the calls that a process made before it died end well without PyTorch, under an allocator that finds what was damaged."""
        more = {"LD_PRELOAD": "libc_malloc_debug.so.0", "GLIBC_TUNABLES": "glibc.malloc.check=3", "MALLOC_PERTURB_": "85"}
        with tempfile.NamedTemporaryFile() as state:
            done = subprocess.run(self.command("--first", first, "--count", number - first + 1, "--state", state.name, "--alone"),
                                  env={**environment(isa, self.args.memory), **more}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return not done.returncode

    def died(self, code, number, where, isa, text, first):
        if memory(text):
            self.tally["refused"] += 1
        elif where == "torch" and (code < 0 or "\nFatal Python error: " in "\n" + text):     # a sanitizer ends the process with 1
            self.tally["torch died"] += 1
            print(f"torch died in call {number} ({code})")
        elif code in (-signal.SIGABRT, -signal.SIGSEGV) and hasattr(self.args, "alone") and self.alone(first, number, isa):
            self.tally["torch died"] += 1
            print(f"torch damaged memory before call {number} ({code})")
        elif code == -signal.SIGALRM:
            self.fault(number, isa, "took too long", text[-6000:])
        else:
            self.fault(number, isa, f"ended the process ({code})", text[-6000:])


def memory(text):
    """Whether a process ended because it asked operator new for more than there is: the address sanitizer ends the process
    there, where an ordinary build raises OutOfMemoryError. A size beyond all reason is still a fault."""
    wanted = re.search(r"AddressSanitizer: (?:allocator is out of memory trying to allocate|requested allocation size) (0x[0-9a-f]+)", text)
    return bool(wanted) and "operator new" in text and int(wanted[1], 16) < 1 << 46


def at(state):
    """The call that a child is at."""
    return int(state.read_text().split()[0])


def wait(running, until):
    """The next child to end; None when it is time to tell how far they are."""
    while time.monotonic() < until:
        for pid, (process, *_) in running.items():
            if process.poll() is not None:
                return pid
        time.sleep(0.05)
    return None


def main(file, tool, doc, **defaults):
    """The command of a tool. Returns its exit status and the parent that has the counts, or None where there is none."""
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="N", help="this call alone, told before it is made")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--chunk", type=int, default=5000, help="calls in one process")
    parser.add_argument("--isas", default="", metavar="A,B", help="chunks in turn under these instruction sets")
    parser.add_argument("--limit", type=int, default=60, metavar="SECONDS", help="for one call")
    parser.add_argument("--memory", type=int, default=1024, metavar="MEGABYTES", help="for one child, beyond what it starts with")
    parser.add_argument("--seconds", type=int, default=0, help="start no more chunks after so long")
    parser.add_argument("--tell", type=int, default=30, metavar="SECONDS", help="how often to say on stderr how far it is")
    parser.add_argument("--faults", type=int, default=20, help="stop after so many")
    parser.add_argument("--stack", type=int, default=0, metavar="KB", help="calls come from a thread with so small a stack")
    parser.add_argument("--state", help=argparse.SUPPRESS)
    tool.options(parser)
    parser.set_defaults(**defaults)
    args = parser.parse_args()
    if args.state:
        return on_stack(work, tool, args), None
    if args.only is not None:
        return on_stack(one, tool, args), None
    parent = Parent(file, parser, args)
    parent.run()
    return bool(parent.kinds), parent
