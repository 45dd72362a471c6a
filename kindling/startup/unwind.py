"""Native call stacks from registers and a copy of the stack, by the unwind tables of the files (.eh_frame, x86-64)."""

import mmap
import struct
from array import array
from bisect import bisect_right

_EH_FRAME_HDR = 0x6474E550
_RBX, _RBP, _RSP, _RA = 3, 6, 7, 16
REGISTERS = (_RSP, _RBP, _RBX, 12, 13, 14, 15)  # in the order of the audit library's samples


VDSO = "[vdso]"


def _vdso():
    """The kernel's library, which has no file: this process has the same one."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            if line.rstrip().endswith(VDSO):
                start, end = (int(word, 16) for word in line.split()[0].split("-"))
                with open("/proc/self/mem", "rb") as memory:
                    memory.seek(start)
                    return memory.read(end - start)
    raise ValueError("no vdso")


class Tables:
    """The unwind tables of one file; addresses are those it was linked at."""

    def __init__(self, path):
        if path == VDSO:
            self.data = data = _vdso()
        else:
            with open(path, "rb") as file:
                self.data = data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        start = struct.unpack_from("<Q", data, 32)[0]
        size, number = struct.unpack_from("<HH", data, 54)
        self.loads, header = [], None
        for at in range(start, start + size * number, size):
            kind, _, offset, address, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", data, at)
            if kind == 1:
                self.loads.append((address, offset, length))
            elif kind == _EH_FRAME_HDR:
                header = offset, address
        self.starts, self.rows, self.entries = [], {}, ()
        if header and data[header[0] : header[0] + 4] == b"\x01\x1b\x03\x3b":
            count = struct.unpack_from("<I", data, header[0] + 8)[0]
            words = array("i", data[header[0] + 12 : header[0] + 12 + 8 * count])
            self.starts = [word + header[1] for word in words[::2]]
            self.entries = [word + header[1] for word in words[1::2]]

    def covers(self, address):
        return any(start <= address < start + size for start, _, size in self.loads)

    def offset(self, address):
        for start, offset, size in self.loads:
            if start <= address < start + size:
                return address - start + offset
        raise ValueError("outside the file")

    def row(self, address):
        """``(CFA register, CFA offset, {register: offset from CFA})`` at an address, or None. The register is None for a
        procedure linkage table, whose rule is an expression."""
        if address in self.rows:
            return self.rows[address]
        try:
            row = self._row(address)
        except (ValueError, IndexError, struct.error):
            row = None
        self.rows[address] = row
        return row

    def _row(self, address):
        index = bisect_right(self.starts, address) - 1
        if index < 0:
            return None
        at = self.offset(self.entries[index])
        length, back = struct.unpack_from("<II", self.data, at)
        cie = at + 4 - back
        cie_end = cie + 4 + struct.unpack_from("<I", self.data, cie)[0]
        end = at + 4 + length
        # The CIE: version, augmentation, alignment factors, return register, encodings.
        place = cie + 9
        stop = self.data.find(b"\0", place)
        augmentation = self.data[place:stop]
        code, place = _unsigned(self.data, stop + 1)
        factor, place = _signed(self.data, place)
        _, place = _unsigned(self.data, place)
        width = 4
        if augmentation[:1] == b"z":
            size, place = _unsigned(self.data, place)
            encodings = place
            for letter in augmentation[1:].decode():
                if letter == "R":
                    width = 4 if self.data[encodings] & 15 in (3, 11) else 8
                elif letter == "P":
                    encodings += 1 + (4 if self.data[encodings] & 15 in (3, 11) else 8)
                    continue
                elif letter in "SB":
                    continue
                encodings += 1
            place += size
        start = self.starts[index]
        extent = struct.unpack_from("<I" if width == 4 else "<Q", self.data, at + 8 + width)[0]
        if not start <= address < start + extent:
            return None
        body = at + 8 + 2 * width
        if augmentation[:1] == b"z":
            size, body = _unsigned(self.data, body)
            body += size
        state = [_RSP, 8, {}]
        self._run(place, cie_end, state, code, factor, None, 0, address)
        self._run(body, end, state, code, factor, dict(state[2]), start, address)
        return state[0], state[1], state[2]

    def _run(self, at, end, state, code, factor, first, here, address):
        data, saved = self.data, []
        while at < end:
            op = data[at]
            at += 1
            high, low = op & 0xC0, op & 0x3F
            if high == 0x40:
                here += low * code
            elif high == 0x80:
                value, at = _unsigned(data, at)
                state[2][low] = value * factor
                continue
            elif high == 0xC0:
                _restore(state[2], low, first)
                continue
            elif op in (2, 3, 4):
                form, size = {2: ("<B", 1), 3: ("<H", 2), 4: ("<I", 4)}[op]
                here += struct.unpack_from(form, data, at)[0] * code
                at += size
            elif op == 0x0A:
                saved.append((state[0], state[1], dict(state[2])))
                continue
            elif op == 0x0B:
                state[0], state[1], state[2] = saved.pop()
                continue
            elif op in (0x0F,):
                size, at = _unsigned(data, at)
                at += size
                state[0] = None
                continue
            elif op in (0x10, 0x16):
                register, at = _unsigned(data, at)
                size, at = _unsigned(data, at)
                at += size
                state[2].pop(register, None)
                continue
            elif op in (0, 0x2E):
                if op:
                    _, at = _unsigned(data, at)
                continue
            else:
                first_word, at = _unsigned(data, at)
                if op == 0x0C:
                    state[0], (state[1], at) = first_word, _unsigned(data, at)
                elif op == 0x0D:
                    state[0] = first_word
                elif op == 0x0E:
                    state[1] = first_word
                elif op == 0x05:
                    value, at = _unsigned(data, at)
                    state[2][first_word] = value * factor
                elif op == 0x06:
                    _restore(state[2], first_word, first)
                elif op in (0x07, 0x08):
                    state[2].pop(first_word, None)
                    if op == 0x07 and first_word == _RA:
                        state[2][_RA] = None  # the outermost frame
                else:
                    raise ValueError(f"unwind instruction {op:#x}")
                continue
            if here > address:
                return


def _restore(rules, register, first):
    if first and register in first:
        rules[register] = first[register]
    else:
        rules.pop(register, None)


def _unsigned(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _signed(data, at):
    start = at
    value, at = _unsigned(data, at)
    bits = 7 * (at - start)
    return (value - (1 << bits) if value >> (bits - 1) & 1 else value), at


def stack(address, words, memory, find, limit=256):
    """Return addresses, innermost first. ``words`` are the registers of REGISTERS, ``memory`` the stack from the first
    of them, rounded down to 8, on; ``find(address)`` gives ``(Tables, load address)`` or None."""
    registers = dict(zip(REGISTERS, words))
    base = words[0] & ~7
    found = [address]
    while len(found) < limit:
        # A return address may lie behind the function's end; the call is what counts.
        there = find(address if len(found) == 1 else address - 1)
        if there is None:
            break
        tables, load = there
        at = (address if len(found) == 1 else address - 1) - load
        row = tables.row(at)
        if row is None:
            break
        register, offset, rules = row
        if register is None:
            cfa = registers[_RSP] + 8 + (8 if (address - load) & 15 >= 11 else 0)
            rules = {_RA: -8}
        elif register in registers:
            cfa = registers[register] + offset
        else:
            break
        if rules.get(_RA, -8) is None:
            break
        try:
            address = struct.unpack_from("<Q", memory, cfa + rules.get(_RA, -8) - base)[0]
            for each, place in rules.items():
                if each != _RA:
                    registers[each] = struct.unpack_from("<Q", memory, cfa + place - base)[0]
        except struct.error:
            break  # past what was copied
        if cfa <= registers[_RSP] or not address:
            break
        registers[_RSP] = cfa
        found.append(address)
    return found
