"""What pipes share: checks of functions, files."""
import fnmatch
import functools
import inspect
import os
import warnings

import kindling as torch

__all__ = ["StreamWrapper", "get_file_binaries_from_pathnames", "get_file_pathnames_from_root", "match_masks", "validate_input_col",
           "validate_pathname_binary_tuple"]


class _Shuffled:
    """What shuffling pipes share: whether they shuffle, and the seed of the next run."""

    def set_shuffle(self, shuffle=True):
        """Whether to shuffle."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed):
        """The seed of the next run."""
        self._seed = seed
        return self

    def _draw_seed(self):
        """The seed of a run that was given none: one number of the default generator."""
        if self._seed is None:
            self._seed = int(torch.empty((), dtype=torch.int64).random_().item())


def validate_input_col(fn, input_col):
    """ValueError where a function does not take as many arguments as there are columns."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (ValueError, TypeError):     # built-in functions say nothing
        return
    count = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    several = any(each.kind == each.VAR_POSITIONAL for each in parameters)
    needed = [each for each in places if each.default is each.empty]
    by_name = [each.name for each in parameters if each.kind == each.KEYWORD_ONLY and each.default is each.empty]
    name = getattr(fn, "__name__", getattr(getattr(fn, "func", None), "__name__", str(fn)))
    if by_name:
        raise ValueError(f"The function {name} takes keyword-only parameter(s): {set(by_name)}, which is not allowed.")
    if len(needed) > count:
        raise ValueError(f"The function {name} takes {len(needed)} parameters, but {count} are required." if isinstance(input_col, (list, tuple))
                         else f"The function {name} takes {len(needed)} non-default parameters, but one is required.")
    if not several and len(places) < count:
        raise ValueError(f"The function {name} takes {len(places)} parameters, but {count} are required.")


def _check_unpickable_fn(fn):
    """Warns of functions that cannot be sent to another process."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    while isinstance(fn, functools.partial):
        fn = fn.func
    if inspect.isfunction(fn) and ("<locals>" in fn.__qualname__ or fn.__name__ == "<lambda>"):
        what = "Local" if "<locals>" in fn.__qualname__ else "Lambda"
        warnings.warn(f"{what} function is not supported by pickle, please use regular python function or functools.partial instead.", stacklevel=3)


def match_masks(name, masks):
    """Whether a name matches a pattern, or one of several; any does without one."""
    if not masks:
        return True
    return any(fnmatch.fnmatch(name, each) for each in ([masks] if isinstance(masks, str) else masks))


def get_file_pathnames_from_root(root, masks, recursive=False, abspath=False, non_deterministic=False):
    """Paths of the files in a folder."""
    def fail(error):
        warnings.warn(error.filename + " : " + error.strerror, stacklevel=2)
        raise error

    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield os.path.abspath(root) if abspath else root
        return
    for path, folders, files in os.walk(root, onerror=fail):
        if abspath:
            path = os.path.abspath(path)
        for each in files if non_deterministic else sorted(files):
            if match_masks(each, masks):
                yield os.path.join(path, each)
        if not recursive:
            break
        if not non_deterministic:
            folders.sort()


def get_file_binaries_from_pathnames(pathnames, mode, encoding=None):
    """Pairs of a path and its file, open."""
    if mode in ("b", "t"):
        mode = "r" + mode
    for each in [pathnames] if isinstance(pathnames, str) else pathnames:
        if not isinstance(each, str):
            raise TypeError(f"Expected string type for pathname, but got {type(each)}")
        yield each, StreamWrapper(open(each, mode, encoding=encoding))


def validate_pathname_binary_tuple(data):
    """TypeError for what is no pair of a path and an open file."""
    import io
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(f"pathname within the tuple should have string type pathname, but it is type {type(data[0])}")
    if not isinstance(data[1], (io.IOBase, StreamWrapper)):
        raise TypeError(f"binary stream within the tuple should have IOBase or its subclasses as type, but it is type {type(data[1])}")


class StreamWrapper:
    """An open file that closes when nobody holds it any longer."""

    def __init__(self, file_obj, parent_stream=None, name=None):
        self.file_obj, self.parent_stream, self.name, self.closed = file_obj, parent_stream, name, False

    def __getattr__(self, name):
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args, **kwargs):
        """Closes the file."""
        self.closed = True
        self.file_obj.close(*args, **kwargs)

    def autoclose(self):
        """Closes the file."""
        self.close()

    @classmethod
    def close_streams(cls, v, depth=0):
        """Closes all open files in nested containers."""
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, dict):
            for each in v.values():
                cls.close_streams(each, depth + 1)
        elif isinstance(v, (list, tuple)):
            for each in v:
                cls.close_streams(each, depth + 1)

    def __dir__(self):
        return sorted({*self.__dict__, *dir(type(self)), *dir(self.file_obj)})

    def __del__(self):
        if not self.__dict__.get("closed", True):
            self.close()

    def __iter__(self):
        yield from self.file_obj

    def __next__(self):
        return next(self.file_obj)

    def __repr__(self):
        return f"StreamWrapper<{self.name}>" if self.name is not None else f"StreamWrapper<{self.file_obj!r}>"

    def __getstate__(self):
        return self.file_obj

    def __setstate__(self, obj):
        self.__dict__.update(file_obj=obj, parent_stream=None, name=None, closed=False)
