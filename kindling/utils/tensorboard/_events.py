"""TensorBoard's event files: messages in protocol buffer form, each framed by its length and two checksums."""
import os
import socket
import struct
import time

_TABLE = []


def _crc32c(data):
    """The Castagnoli checksum, masked as the format wants it."""
    if not _TABLE:
        for value in range(256):
            for _ in range(8):
                value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
            _TABLE.append(value)
    table, crc = _TABLE, 0xffffffff
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


# ---- protocol buffers: a field is its number and wire type, then its value

def _varint(value):
    value &= 0xffffffffffffffff     # negative numbers as two's complement
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(number, value):
    """An integer field."""
    return _varint(number << 3) + _varint(int(value))


def double(number, value):
    """A float64 field."""
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def single(number, value):
    """A float32 field."""
    return _varint(number << 3 | 5) + struct.pack("<f", value)


def data(number, value):
    """A field of bytes, text or a message."""
    if isinstance(value, str):
        value = value.encode()
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def doubles(number, values):
    """A packed list of float64."""
    return data(number, struct.pack(f"<{len(values)}d", *values))


# ---- the messages

def event(step=None, wall_time=None, *, summary=None, version=None):
    """One event: a summary, or the version that begins a file."""
    out = double(1, time.time() if wall_time is None else wall_time)
    if step is not None:
        out += integer(2, step)
    if version is not None:
        out += data(3, version)
    if summary is not None:
        out += data(5, summary)
    return out


def metadata(plugin, content=b""):
    """What tells the viewer which of its plug-ins shows a value."""
    return data(1, data(1, plugin) + (data(2, content) if content else b""))


def value(tag, body, plugin=None):
    """A summary of one value: its tag, its encoded body and the plug-in's metadata."""
    return data(1, data(1, tag) + body + (data(9, plugin) if plugin is not None else b""))


def text_tensor(texts):
    """A tensor of strings."""
    return data(8, integer(1, 7) + data(2, data(2, integer(1, len(texts)))) + b"".join(data(8, each) for each in texts))


class EventFile:
    """An event file in a folder, which is made if it is not there."""

    def __init__(self, folder, suffix=""):
        os.makedirs(folder, exist_ok=True)
        name = f"{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{_next_number()}{suffix}"
        self.path = os.path.join(folder, "events.out.tfevents." + name)
        self._file = open(self.path, "ab")
        self.add(event(version="brain.Event:2"))
        self.flush()

    def add(self, message):
        """Appends one event."""
        length = struct.pack("<Q", len(message))
        self._file.write(length + struct.pack("<I", _crc32c(length)) + message
                         + struct.pack("<I", _crc32c(message)))

    def flush(self):
        """Writes out what is buffered."""
        self._file.flush()

    def close(self):
        """Closes the file; a second call does nothing."""
        self._file.close()

    @property
    def closed(self):
        """Whether the file is closed."""
        return self._file.closed


_count = 0


def _next_number():
    """Two files made in one second by one process need different names."""
    global _count
    _count += 1
    return _count - 1
