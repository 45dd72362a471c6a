"""Zip archives as torch.save writes them: stored records, 64-byte aligned, with checksums; nothing else of zip.

Reading trusts no number in the file: every offset and count goes through `span` before it is used, records may not
overlap or exceed the file, and compressed or encrypted ones are refused, so that a read never allocates more bytes
than the file holds.
"""

ALIGNMENT = 64
_LARGE = 0xFFFFFFFF
_LOCAL, _CENTRAL, _DESCRIPTOR = b"PK\x03\x04", b"PK\x01\x02", b"PK\x07\x08"
_END, _END64, _LOCATOR64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"


def span(offset, count, size, what):
    """The one bounds check: `count` bytes from `offset` must lie inside the first `size` bytes.

    Raises RuntimeError, naming `what`, when they do not.
    """
    if offset < 0 or count < 0 or offset + count > size:
        raise RuntimeError(f"failed reading file: {what} needs bytes {offset} to {offset + count}, "
                           f"but there are {size}: the file is damaged or truncated")
    return offset, offset + count


def number(data, offset, width):
    """The little-endian unsigned integer of `width` bytes at `offset` in `data`."""
    start, stop = span(offset, width, len(data), "a number")
    return int.from_bytes(data[start:stop], "little")


class Source:
    """Random reads from a seekable binary file, from its current position to its end."""

    def __init__(self, file):
        self.file = file
        self.base = file.tell()
        file.seek(0, 2)
        self.size = max(0, file.tell() - self.base)
        file.seek(self.base)

    def read(self, offset, count, what="a record"):
        """`count` bytes from `offset`; RuntimeError when the file ends before."""
        span(offset, count, self.size, what)
        self.file.seek(self.base + offset)
        data = self.file.read(count)
        while len(data) < count:  # raw files may return less than asked
            more = self.file.read(count - len(data))
            if not more:
                raise RuntimeError(f"failed reading file: {what} ended {count - len(data)} bytes early")
            data += more
        return data

    def read_into(self, offset, view, what="a record"):
        """Fills the writable byte view from `offset`."""
        span(offset, len(view), self.size, what)
        self.file.seek(self.base + offset)
        readinto = getattr(self.file, "readinto", None)
        done = 0
        while done < len(view):
            if readinto is not None:
                got = readinto(view[done:])
            else:
                data = self.file.read(min(len(view) - done, 1 << 24))
                got = len(data)
                view[done:done + got] = data
            if not got:
                raise RuntimeError(f"failed reading file: {what} ended {len(view) - done} bytes early")
            done += got


class Record:
    """One record of an archive: where its header is, its size and checksum."""

    __slots__ = ("name", "header", "size", "crc", "start")

    def __init__(self, name, header, size, crc):
        self.name, self.header, self.size, self.crc, self.start = name, header, size, crc, None


class Reader:
    """The records of a zip archive by name; the archive's root folder is left off the names."""

    def __init__(self, source):
        self.source = source
        self.records = {}
        self.root = ""
        count, size, offset = self._end()
        span(offset, size, source.size, "the central directory")
        if count > size // 46:
            raise RuntimeError(f"failed reading zip archive: {count} records cannot stand in {size} bytes")
        directory = source.read(offset, size, "the central directory")
        total = at = 0
        for _ in range(count):
            record, at = self._entry(directory, at)
            total += record.size
            if record.name in self.records:
                raise RuntimeError(f"failed reading zip archive: two records are called {record.name!r}")
            self.records[record.name] = record
        if total > source.size:
            raise RuntimeError(f"failed reading zip archive: records of {total} bytes in a file of {source.size}")

    def _end(self):
        """(records, bytes and offset of the central directory), from the archive's end."""
        source = self.source
        tail_at = max(0, source.size - 65557)
        tail = source.read(tail_at, source.size - tail_at, "the end of the archive")
        at = tail.rfind(_END)
        if at < 0:
            raise RuntimeError("PytorchStreamReader failed reading zip archive: failed finding central directory")
        span(at, 22, len(tail), "the end of the archive")
        found = number(tail, at + 10, 2), number(tail, at + 12, 4), number(tail, at + 16, 4)
        locator = tail_at + at - 20
        if locator >= 0:
            data = source.read(locator, 20)
            if data[:4] == _LOCATOR64:
                data = source.read(number(data, 8, 8), 56, "the end of the archive")
                if data[:4] != _END64:
                    raise RuntimeError("failed reading zip archive: the 64-bit end record is not where it should be")
                found = number(data, 32, 8), number(data, 40, 8), number(data, 48, 8)
        return found

    def _entry(self, data, at):
        span(at, 46, len(data), "a directory entry")
        if data[at:at + 4] != _CENTRAL:
            raise RuntimeError("failed reading zip archive: a directory entry does not begin as one")
        flags, method = number(data, at + 8, 2), number(data, at + 10, 2)
        crc, packed, size = number(data, at + 16, 4), number(data, at + 20, 4), number(data, at + 24, 4)
        lengths = [number(data, at + i, 2) for i in (28, 30, 32)]
        header = number(data, at + 42, 4)
        span(at + 46, sum(lengths), len(data), "a directory entry")
        name = data[at + 46:at + 46 + lengths[0]].decode("utf-8", "replace")
        extra = at + 46 + lengths[0]
        stop = extra + lengths[1]
        while extra + 4 <= stop:
            kind, length = number(data, extra, 2), number(data, extra + 2, 2)
            field = extra + 4
            span(field, length, stop, "an extra field")
            if kind == 1:  # 64-bit values, only for those that did not fit
                values = [size, packed, header]
                for i in range(3):
                    if values[i] == _LARGE:
                        span(field, 8, extra + 4 + length, "an extra field")
                        values[i], field = number(data, field, 8), field + 8
                size, packed, header = values
            extra += 4 + length
        if method != 0 or flags & 1 or packed != size:
            raise RuntimeError(f"failed reading zip archive: {name!r} is compressed or encrypted; "
                               "torch's files hold stored records only")
        span(header, 30, self.source.size, f"record {name!r}")
        span(header, size, self.source.size, f"record {name!r}")
        root, slash, rest = name.partition("/")
        if not self.records:
            self.root = root + slash if slash else ""
        if self.root and slash and root + slash == self.root:
            name = rest
        return Record(name, header, size, crc), at + 46 + sum(lengths)

    def __contains__(self, name):
        return name in self.records

    def find(self, name):
        """The record called `name`, with the place of its data; RuntimeError when there is none."""
        record = self.records.get(name)
        if record is None:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        if record.start is None:
            header = self.source.read(record.header, 30, f"record {name!r}")
            if header[:4] != _LOCAL:
                raise RuntimeError(f"failed reading zip archive: record {name!r} does not begin as one")
            start = record.header + 30 + number(header, 26, 2) + number(header, 28, 2)
            span(start, record.size, self.source.size, f"record {name!r}")
            stored = self.source.read(record.header + 30, number(header, 26, 2), f"the name of record {name!r}")
            if stored.decode("utf-8", "replace") not in (self.root + name, name):
                raise RuntimeError(f"failed reading zip archive: record {name!r} calls itself otherwise")
            record.start = start
        return record

    def read(self, name):
        """The bytes of a record, its checksum verified."""
        record = self.find(name)
        data = self.source.read(record.start, record.size, f"record {name!r}")
        self._verify(record, data)
        return data

    def read_into(self, name, view):
        """Fills a byte view of exactly the record's size."""
        record = self.find(name)
        if len(view) != record.size:
            raise RuntimeError(f"record {name!r} has {record.size} bytes, but {len(view)} are asked for: "
                               "the file is damaged")
        self.source.read_into(record.start, view, f"record {name!r}")
        self._verify(record, view)

    @staticmethod
    def _verify(record, data):
        if record.crc:  # zero: written with torch.serialization.set_crc32_options(False)
            from zlib import crc32
            if crc32(data) != record.crc:
                raise RuntimeError(f"failed reading zip archive: the checksum of record {record.name!r} is wrong: "
                                   "the file is damaged")


class Writer:
    """Writes an archive to anything with `write`, front to back, in the layout of torch.save."""

    def __init__(self, write, root, checksums=True):
        self.write_bytes = write
        self.root = root
        self.checksums = checksums
        self.offset = 0
        self.directory = []

    def _emit(self, data):
        self.write_bytes(data)
        self.offset += len(data)

    def write(self, name, data):
        """One record: `data` is bytes or a contiguous byte view."""
        size, header = len(data), self.offset
        encoded = (self.root + "/" + name).encode("utf-8")
        crc = 0
        if self.checksums:
            from zlib import crc32
            crc = crc32(data)
        flags = 0x0808 if size else 0x0800  # UTF-8 names; checksum and sizes follow the data
        large = b""
        if size >= _LARGE:
            large += size.to_bytes(8, "little") * 2
        if header >= _LARGE:
            large += header.to_bytes(8, "little")
        if large:
            large = b"\x01\x00" + len(large).to_bytes(2, "little") + large
        before = header + 30 + len(encoded) + len(large) + 4
        padding = ALIGNMENT - before % ALIGNMENT
        extra = large + b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
        self._emit(_LOCAL + b"\x00\x00" + flags.to_bytes(2, "little") + bytes(18)
                   + len(encoded).to_bytes(2, "little") + len(extra).to_bytes(2, "little") + encoded + extra)
        if size:
            self._emit(data)
            width = 8 if large else 4
            self._emit(_DESCRIPTOR + crc.to_bytes(4, "little") + size.to_bytes(width, "little") * 2)
        self.directory.append(
            _CENTRAL + bytes(4) + flags.to_bytes(2, "little") + bytes(6) + crc.to_bytes(4, "little")
            + min(size, _LARGE).to_bytes(4, "little") * 2 + len(encoded).to_bytes(2, "little")
            + len(large).to_bytes(2, "little") + bytes(10) + min(header, _LARGE).to_bytes(4, "little")
            + encoded + large)

    def close(self):
        """The central directory and the archive's end."""
        start, count = self.offset, len(self.directory)
        for entry in self.directory:
            self._emit(entry)
        size, end = self.offset - start, self.offset
        self._emit(_END64 + (44).to_bytes(8, "little") + b"\x1e\x03\x2d\x00" + bytes(8)
                   + count.to_bytes(8, "little") * 2 + size.to_bytes(8, "little") + start.to_bytes(8, "little"))
        self._emit(_LOCATOR64 + bytes(4) + end.to_bytes(8, "little") + (1).to_bytes(4, "little"))
        self._emit(_END + bytes(4) + min(count, 0xFFFF).to_bytes(2, "little") * 2
                   + min(size, _LARGE).to_bytes(4, "little") + min(start, _LARGE).to_bytes(4, "little") + b"\x00\x00")
