"""Sources of the packed modules that have bytecode: tracebacks and `inspect` show them, nothing runs them.

tools/stage_python.py packs them as one, which takes two thirds of what they take singly. The first use costs 20 ms.
"""
import functools
import marshal

from kindling import _importer


@functools.cache
def _every():
    data = _importer.sources()
    try:
        import lzma
    except ImportError:     # an interpreter built without it: tracebacks have no lines
        return {}
    return marshal.loads(lzma.decompress(data)) if data else {}     # nor have they if the wheel was built by such a one


def source(path):
    """The text of the module at `path` below the package, or None."""
    text = _every().get(path)
    return text and text.decode()
