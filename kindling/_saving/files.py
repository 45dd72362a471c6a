"""Files that are written whole or not at all, and bytes of the other order: what all formats use."""
import os


def open_unnamed(folder):
    """A descriptor of a new file without a name in a folder, or None where the system has no such thing. A process that is killed
    leaves nothing of it behind."""
    try:
        descriptor = os.open(folder or ".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o666)
    except (OSError, AttributeError):
        return None
    if os.path.exists(f"/proc/self/fd/{descriptor}"):  # what gives it a name later
        return descriptor
    os.close(descriptor)
    return None


class Replaced:
    """A with block that writes a file whole or not at all: without a name or beside it first, then renamed over it."""

    def __init__(self, path):
        self.path = os.path.realpath(os.fspath(path))
        self.temporary = None
        self.unnamed = False

    def __enter__(self):
        folder, name = os.path.split(self.path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            self.file = open(self.path, "wb")  # a device or a pipe: there is nothing to keep whole
            return self.file
        from _thread import get_ident
        temporary = os.path.join(folder, f".{name[:200]}.{os.getpid()}.{get_ident():x}.tmp")
        descriptor = open_unnamed(folder)
        self.unnamed = descriptor is not None
        if not self.unnamed:
            try:
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o666)
            except FileNotFoundError:
                raise RuntimeError(f"Parent directory {folder} does not exist.") from None
            except PermissionError:
                self.file = open(self.path, "wb")  # the folder takes no new files, but the file may be writable
                return self.file
        self.temporary = temporary
        self.file = open(descriptor, "wb")
        return self.file

    def __exit__(self, kind, value, trace):
        try:
            with self.file:
                if self.temporary and self.unnamed and kind is None:
                    self.file.flush()
                    descriptor = self.file.fileno()
                    # A directory given makes Python follow the link, as the name of an unnamed file wants; the path needs none.
                    os.link(f"/proc/self/fd/{descriptor}", self.temporary, src_dir_fd=descriptor)
            if self.temporary and kind is None:
                try:
                    os.chmod(self.temporary, os.stat(self.path).st_mode & 0o7777)
                except FileNotFoundError:
                    pass
                os.replace(self.temporary, self.path)
                self.temporary = None
        finally:
            if self.temporary:
                try:
                    os.unlink(self.temporary)
                except OSError:
                    pass


def swap_bytes(view, width):
    """Turns around every `width` bytes of a writable view."""
    if width > 1:
        copy = bytes(view)
        for i in range(width):
            view[i::width] = copy[width - 1 - i::width]


def swap_width(dtype):
    size = dtype.itemsize
    return size // 2 if dtype.is_complex else size
