"""Threads that import at once: sixteen of them, in processes that have imported nothing of ours but the package itself.

    python tests/fuzz/imports.py --count 1000 --seed 1

Each thread's first act is `import kindling.x.y` or `from kindling.x import name`, drawn from all public modules and names; what
works alone must work among others, and give the object that everybody else gets. With --graph the modules are imported one
by one instead, each in a process of its own, and a ring among those that wait for one another is a fault: two threads that
enter it in different places would wait for ever, or be told of a deadlock. With --first no thread finds even the package: one
is inside the first `import kindling` while the others look for modules of it.
"""
import argparse
import faulthandler
import json
import os
import random
import sys
import threading
import traceback

# Seconds that a process may take. Sanitized, it takes twenty times as long.
LIMIT = 1000 if os.environ.get("KINDLING_SANITIZED") else 100
PRIVATE = ("startup", "libkindling")


def names():
    """All public modules, and the names that each says it has. (Asked of a process of its own.)"""
    import importlib
    import pkgutil

    import kindling

    modules, members = [], []
    for found in pkgutil.walk_packages(kindling.__path__, "kindling."):
        parts = found.name.split(".")[1:]
        if parts[0].startswith(PRIVATE) or parts[-1].startswith("__"):
            continue
        modules.append(found.name)
        if not any(part.startswith("_") for part in parts):
            members += [(found.name, name) for name in getattr(importlib.import_module(found.name), "__all__", ())]
    return modules, members


def in_child(function, *args):
    """What function(*args) gives in a process forked for it; its status if it died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            faulthandler.dump_traceback_later(LIMIT, exit=True)     # threads that wait for one another
            with open(writer, "w") as file:
                json.dump(function(*args), file)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader) as file:
        text = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(text) if status == 0 else f"the process ended with {status}"


def by_the_interpreter(error, module):
    """Whether importlib itself has missed a parent of the module: when a module has run, it takes it out of sys.modules and puts it
    back (`_load_unlocked`), and another thread that asks for a module of it in between gets this. Some 1 of 4,000 processes meet it."""
    frames = traceback.extract_tb(error.__traceback__)
    return frames[-1].filename == "<frozen importlib._bootstrap>" and module.startswith(f"{error.args[0]}.")


def at_once(seed, modules, members, threads, first=False):
    """Faults of one process."""
    rng = random.Random(seed)
    if not first:
        import kindling    # noqa: F401
    sys.setswitchinterval(rng.choice((1e-6, 1e-5, 5e-3)))
    if first:
        # Python locks `a.b` before it looks at `a`: nobody may begin with what the package's own lines import.
        modules = [module for module in modules if module != "kindling._C"]
    faults, got, start = [], [], threading.Barrier(threads)
    few = rng.sample(members, min(len(members), rng.choice((4, 100, len(members)))))

    def act(module, name):
        line = f"from {module} import {name}" if name else f"import {module}"
        try:
            start.wait()
            space = {}
            try:
                exec(line, space)
            except KeyError as error:
                if not by_the_interpreter(error, module):
                    raise
                exec(line, space)
            if name:
                got.append((module, name, space[name]))
        except BaseException as error:
            faults.append(f"{line}: {type(error).__name__}: {error}")

    acts = [rng.choice(few) if rng.random() < 0.6 else (rng.choice(modules), None) for _ in range(threads)]
    running = [threading.Thread(target=act, args=each) for each in acts]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    for module, name, value in got:
        if getattr(sys.modules[module], name) is not value:
            faults.append(f"from {module} import {name}: another object than others got")
    return faults


def needs(module):
    """Which module waits for which while this one is imported, in a process that has the package alone."""
    import kindling    # noqa: F401

    found = []

    class Watch:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.startswith("kindling."):
                under_way = [each for each, value in list(sys.modules.items()) if each.startswith("kindling.")
                             and getattr(getattr(value, "__spec__", None), "_initializing", False)]
                found.extend((each, name) for each in under_way if each != name)

    sys.meta_path.insert(0, Watch)
    __import__(module)
    return found


def rings(edges):
    """Sets of modules that wait for one another."""
    index, low, stack, result = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            ring = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(ring) > 1:
                result.append(sorted(ring))

    for node in list(edges):
        if node not in index:
            visit(node)
    return result


def graph(modules):
    edges, faults = {}, []
    for module in modules:
        found = in_child(needs, module)
        if isinstance(found, str):
            faults.append(f"import {module}: {found}")
            continue
        for waits, for_it in found:
            edges.setdefault(waits, set()).add(for_it)
        package = module.rpartition(".")[0]
        if package != "kindling":   # a module's lock is taken before its package is looked at
            edges.setdefault(module, set()).add(package)
    return faults + [f"these wait for one another: {', '.join(ring)}" for ring in rings(edges)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="processes")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--first", action="store_true")
    args = parser.parse_args()
    modules, members = in_child(names)
    if args.graph:
        faults = graph(modules)
    else:
        faults = []
        for number in range(args.count):
            found = in_child(at_once, f"{args.seed} {number}", modules, members, args.threads, args.first)
            faults += [f"process {number}: {each}" for each in ([found] if isinstance(found, str) else found)]
    print("\n".join(faults[:40]))
    print(f"{len(modules)} modules, {len(members)} names, {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
