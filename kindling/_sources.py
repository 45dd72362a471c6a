"""Sources of the archive's modules that have bytecode there: tracebacks and `inspect` show them, nothing runs them.

tools/stage_python.py packs them as one, which takes two thirds of what they take singly. The first use costs 20 ms.
"""
import functools
import marshal
import zipimport


@functools.cache
def _every(archive):
    try:
        import lzma
    except ImportError:     # an interpreter built without it: tracebacks have no lines
        return {}
    return marshal.loads(lzma.decompress(zipimport.zipimporter(archive).get_data(f"{archive}/sources.xz")))


def source(loader, name):
    """The text of module `name`, or None; `loader`: the interpreter's, of the module's folder in the archive."""
    text = _every(loader.archive).get(loader.get_filename(name)[len(loader.archive) + 1:-1])     # without the "c" of .pyc
    return text and text.decode()
