"""Versions that compare as such: `torch.__version__ >= "2.9"`, `torch.__version__ >= (2, 9)`."""
import re

import kindling

__all__ = ["TorchVersion"]

TorchVersion = kindling._Version
TorchVersion.__module__ = __name__

# PEP 440, with the spellings that it allows beside its own.
_FORM = re.compile(r"""\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<pre>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<pre_number>\d*))?
    (?P<post>-(?P<post_plain>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_number>\d*))?
    (?P<dev>[-_.]?dev[-_.]?(?P<dev_number>\d*))?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*""", re.VERBOSE | re.IGNORECASE)
_PRE = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_FIRST, _LAST = (-1,), (1,)


class InvalidVersion(ValueError):
    """What is no version."""


def _key(text):
    """What versions are ordered by."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise InvalidVersion(f"Invalid version: {text!r}")
    release = [int(each) for each in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    kind = (found["pre"] or "").lower()
    if kind:
        pre = 0, _PRE.get(kind, kind), int(found["pre_number"] or 0)
    else:       # a development version without more comes before the pre-releases
        pre = _FIRST if found["dev"] and not found["post"] else _LAST
    post = (0, int(found["post_plain"] or found["post_number"] or 0)) if found["post"] else _FIRST
    dev = (0, int(found["dev_number"] or 0)) if found["dev"] else _LAST
    local = _FIRST
    if found["local"]:
        local = 0, tuple((1, int(each), "") if each.isdigit() else (0, 0, each) for each in re.split("[-_.]", found["local"].lower()))
    return int(found["epoch"] or 0), tuple(release), pre, post, dev, local


def compare(version, other, method):
    """The comparison of that name; of plain texts where one of them is no version."""
    try:
        if isinstance(other, str):
            theirs = _key(other)
        elif hasattr(other, "__iter__"):
            theirs = _key(".".join(map(str, other)))
        else:
            raise InvalidVersion(other)
        return getattr(_key(version), method)(theirs)
    except InvalidVersion:
        return getattr(str, method)(version, other)
