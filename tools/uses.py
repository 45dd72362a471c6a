"""Counts the names of torch that installed packages use, from their sources.

    python tools/uses.py FOLDER... [PACKAGE...] > uses.tsv
    python tools/uses.py --private FOLDER... > tests/packages/private.tsv

A line is: name, uses, packages that use it. A folder is a site-packages, or one that wheels were unpacked in. Imports are followed
within a file (`import torch.nn.functional as F`, `from torch import nn`), so `F.relu` counts as torch.nn.functional.relu; what is
assigned to other names is not. --private leaves what PyTorch, which must be installed, has and lists in no module's public names:
names of its inside, and public ones reached by other ways.
"""
import ast
import collections
import sys
import warnings
from pathlib import Path


class Names(ast.NodeVisitor):
    """The dotted names of one file that begin with torch."""

    def __init__(self):
        self.known, self.found = {}, collections.Counter()

    def visit_Import(self, node):
        for each in node.names:
            if each.name.partition(".")[0] == "torch":
                self.found[each.name] += 1
                self.known[each.asname or "torch"] = each.name if each.asname else "torch"

    def visit_ImportFrom(self, node):
        if node.level == 0 and (node.module or "").partition(".")[0] == "torch":
            for each in node.names:
                name = node.module + ("" if each.name == "*" else "." + each.name)
                self.found[name] += 1
                if each.name != "*":
                    self.known[each.asname or each.name] = name

    def visit_Attribute(self, node):
        parts, at = [], node
        while isinstance(at, ast.Attribute):
            parts.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name) and at.id in self.known:
            self.found[".".join([self.known[at.id], *reversed(parts)])] += 1
        else:
            self.generic_visit(node)


def names(text):
    """Names by count of uses in a source text; imports count wherever in the file they stand."""
    tree, visitor = ast.parse(text), Names()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            visitor.visit(node)
    visitor.visit_Import = visitor.visit_ImportFrom = lambda node: None
    visitor.visit(tree)
    return visitor.found


def count(folders, packages=()):
    """{name: (uses, packages)} of the packages in folders of installed ones; a package in two of them counts once."""
    uses, users, seen = collections.Counter(), collections.defaultdict(set), {"torch", "torchgen", "functorch", "kindling"}
    for package in sorted((path for folder in folders for path in Path(folder).iterdir()), key=lambda path: path.name):
        if packages and package.name not in packages or package.name in seen:
            continue
        seen.add(package.name)
        for path in sorted(package.rglob("*.py")) if package.is_dir() else [package] if package.suffix == ".py" else []:
            try:
                text = path.read_text()
                if "torch" not in text:
                    continue
                found = names(text)
            except (SyntaxError, UnicodeDecodeError):
                continue
            uses.update(found)
            for name in found:
                users[name].add(package.name)
    return {name: (number, len(users[name])) for name, number in uses.items()}


def private(found):
    """The names among those found that PyTorch has and that no module of it lists."""
    sys.path.insert(0, str(Path(__file__).parent))
    import contextlib
    import io
    import logging

    import surface
    import torch
    logging.disable(logging.CRITICAL)
    with contextlib.redirect_stdout(io.StringIO()):
        listed = {module.__name__: set(surface.public(module)) for module in surface.modules(torch)}
    kept = {}
    for name, counted in found.items():
        place = surface.where(name)
        if place is None:
            continue
        module, first = place
        if name.startswith(("torch.ops.", "torch.classes.")) and name.count(".") < 3:    # a name space, which any name makes
            continue
        at = sys.modules[module]
        try:
            for part in name[len(module) + 1:].split("."):
                at = getattr(at, part)
        except Exception:       # of an older PyTorch, or a package's own operator
            continue
        if first not in listed.get(module, ()):
            kept[name] = counted
    return kept


def main(argv):
    warnings.simplefilter("ignore")
    given = [each for each in argv if each != "--private"]
    found = count([each for each in given if Path(each).is_dir()], [each for each in given if not Path(each).is_dir()])
    if len(given) < len(argv):
        found = private(found)
    for name, (uses, users) in sorted(found.items(), key=lambda each: (-each[1][1], -each[1][0], each[0])):
        print(name, uses, users, sep="\t")


if __name__ == "__main__":
    main(sys.argv[1:])
