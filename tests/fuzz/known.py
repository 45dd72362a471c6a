"""The differences from PyTorch that are meant, each with its reason.

An entry holds for operators whose `name.overload` its pattern fits wholly, and for differences whose text (what is told
of one) its second pattern is found in. `where` is a phrase of docs/differences.md that tells it to users; an entry without
one is about what no user of PyTorch can see or rely on, and says why. Nothing is left out by class: each entry names what
it is for.
"""
import re
from collections import namedtuple

Known = namedtuple("Known", "operators difference why where", defaults=(None,))

KNOWN = [
]
COMPILED = [(re.compile(entry.operators), re.compile(entry.difference, re.S), entry) for entry in KNOWN]


def known(name, text):
    """The entry that a difference falls under, or None."""
    for operators, difference, entry in COMPILED:
        if operators.fullmatch(name) and difference.search(text):
            return entry
    return None
