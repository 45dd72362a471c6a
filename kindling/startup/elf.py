"""What a shared library's file says of it: relocations by kind, and which function lies at an address."""

import struct
from array import array
from bisect import bisect_right

# Relocation types of x86-64 and AArch64 by what the loader has to do for them.
_X86 = {8: "relative", 38: "relative", 37: "irelative", 7: "jump_slot", 1: "symbolic", 6: "symbolic", 5: "copy",
        16: "tls", 17: "tls", 18: "tls", 36: "tls"}  # fmt: skip
_ARM = {1027: "relative", 1032: "irelative", 1026: "jump_slot", 257: "symbolic", 1025: "symbolic", 1024: "copy",
        1028: "tls", 1029: "tls", 1030: "tls", 1031: "tls"}  # fmt: skip
KINDS = ("relative", "symbolic", "jump_slot", "irelative", "tls", "copy", "other")
# A look-up by name costs about as much as this many additions of the load address.
_LOOKUP = 60


class Elf:
    """A 64-bit little-endian ELF file; ValueError for anything else."""

    def __init__(self, path):
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:6] != b"\x7fELF\x02\x01":
                raise ValueError(f"{path} is not a 64-bit little-endian ELF file")
            self.types = {62: _X86, 183: _ARM}.get(struct.unpack_from("<H", head, 18)[0], {})
            programs, sections = struct.unpack_from("<QQ", head, 32)
            size, number = struct.unpack_from("<HH", head, 54)
            file.seek(programs)
            table = file.read(size * number)
            self.loads, dynamic = [], None
            for at in range(0, size * number, size):
                kind, _, offset, address, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", table, at)
                if kind == 1:
                    self.loads.append((address, offset, length))
                elif kind == 2:
                    dynamic = offset, length
            self.file = file
            self.tags = {}
            if dynamic:
                file.seek(dynamic[0])
                words = array("Q", file.read(dynamic[1] & ~15))
                for tag, value in zip(words[::2], words[1::2]):
                    if not tag:
                        break
                    self.tags.setdefault(tag, value)
            self.lazy = not (self.tags.get(30, 0) & 8 or self.tags.get(0x6FFFFFFB, 0) & 1 or 24 in self.tags)
            self.constructor_count = self.tags.get(27, 0) // 8
            self.relocations = self._relocations()
            self.symbols = None
            self.sections = self._sections(head, sections)
            self.path = path

    def _at(self, address, length):
        for start, offset, size in self.loads:
            if start <= address < start + size:
                self.file.seek(offset + address - start)
                return self.file.read(length)
        return b""

    def _relocations(self):
        counts = dict.fromkeys(KINDS, 0)
        relative = self.tags.get(0x6FFFFFF9, 0)  # DT_RELACOUNT: so many relative ones come first
        counts["relative"] += relative
        for start, size, skip in ((7, 8, relative), (23, 2, 0)):
            data = self._at(self.tags[start] + 24 * skip, self.tags.get(size, 0) - 24 * skip) if start in self.tags else b""
            found = {}
            for info in array("Q", data[: len(data) // 24 * 24])[1::3]:
                kind = info & 0xFFFFFFFF
                found[kind] = found.get(kind, 0) + 1
            for kind, number in found.items():
                counts[self.types.get(kind, "other")] += number
        if 36 in self.tags:  # DT_RELR: an address, or a bitmap of the 63 words behind the last
            for word in array("Q", self._at(self.tags[36], self.tags.get(35, 0) & ~7)):
                counts["relative"] += bin(word >> 1).count("1") if word & 1 else 1
        return counts

    def weight(self):
        """Work for the loader, in relative relocations."""
        counts = self.relocations
        looked_up = sum(counts[kind] for kind in ("symbolic", "irelative", "tls", "copy", "other"))
        cheap = counts["relative"]
        if self.lazy:
            cheap += counts["jump_slot"]
        else:
            looked_up += counts["jump_slot"]
        return cheap + _LOOKUP * looked_up + 1

    def _sections(self, head, offset):
        size, number = struct.unpack_from("<HH", head, 58)
        self.file.seek(offset)
        table = self.file.read(size * number) if offset else b""
        return [struct.unpack_from("<IIQQQQIIQQ", table, at) for at in range(0, len(table), 64)] if size == 64 else []

    def symbol(self, address):
        """Name of the function at ``address`` (as linked), or None where the file has no symbol for it."""
        if self.symbols is None:
            self.symbols = self._symbols()
        starts, sizes, names, text = self.symbols
        index = bisect_right(starts, address) - 1
        if index < 0 or not (starts[index] == address or address < starts[index] + sizes[index]):
            return None
        end = text.find(b"\0", names[index])
        return text[names[index] : end].decode("utf-8", "replace")

    def _symbols(self):
        tables = {section[1]: section for section in self.sections if section[1] in (2, 11)}
        section = tables.get(2) or tables.get(11)
        if section is None:
            return [], [], [], b""
        with open(self.path, "rb") as file:
            file.seek(section[4])
            data = file.read(section[5])
            link = self.sections[section[6]]
            file.seek(link[4])
            text = file.read(link[5])
        rows = sorted(
            (value, size, name)
            for name, info, _, where, value, size in struct.iter_unpack("<IBBHQQ", data[: len(data) // 24 * 24])
            if info & 15 in (2, 10) and where
        )
        return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows], text
