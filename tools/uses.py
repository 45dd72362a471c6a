"""Counts the names of torch that installed packages use, from their sources.

    python tools/uses.py SITE-PACKAGES [PACKAGE...] > uses.tsv

A line is: name, uses, packages that use it. Imports are followed within a file (`import torch.nn.functional as F`,
`from torch import nn`), so `F.relu` counts as torch.nn.functional.relu; what is assigned to other names is not.
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


def count(folder, packages=()):
    """{name: (uses, packages)} of the packages in a folder of installed ones."""
    uses, users = collections.Counter(), collections.defaultdict(set)
    for package in sorted(Path(folder).iterdir()):
        if packages and package.name not in packages or package.name in ("torch", "functorch", "kindling"):
            continue
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


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name, (uses, users) in sorted(count(sys.argv[1], sys.argv[2:]).items(), key=lambda each: (-each[1][1], -each[1][0], each[0])):
        print(name, uses, users, sep="\t")
