"""Fails the build when a shared library would do work at load time.

    python tools/check_library.py LIBRARY...

At most one .init_array entry (an empty library's own), at most 700 relocations that are not relative (each is a symbol
look-up), and none that calls a resolver.
"""

import struct
import sys

CONSTRUCTORS = 1
LOOKUPS = 700
SHT_RELA, SHT_INIT_ARRAY = 4, 14
R_X86_64_RELATIVE, R_X86_64_IRELATIVE = 8, 37


def counts(path):
    """(.init_array entries, relocations by symbol, relocations by resolver) of a 64-bit ELF file."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path} is not a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", data, 40)
    size, number = struct.unpack_from("<HH", data, 58)
    constructors = lookups = resolvers = 0
    for index in range(number):
        _, kind, _, _, offset, length = struct.unpack_from("<IIQQQQ", data, table + index * size)
        if kind == SHT_INIT_ARRAY:
            constructors += length // 8
        elif kind == SHT_RELA:
            for at in range(offset, offset + length, 24):
                (info,) = struct.unpack_from("<Q", data, at + 8)
                resolvers += (info & 0xFFFFFFFF) == R_X86_64_IRELATIVE
                lookups += (info & 0xFFFFFFFF) not in (R_X86_64_RELATIVE, R_X86_64_IRELATIVE)
    return constructors, lookups, resolvers


def main(paths):
    faults = []
    for path in paths:
        constructors, lookups, resolvers = counts(path)
        if constructors > CONSTRUCTORS:
            faults.append(f"{path}: {constructors} .init_array entries, {CONSTRUCTORS} allowed: a static constructor")
        if lookups > LOOKUPS:
            faults.append(f"{path}: {lookups} relocations by symbol, {LOOKUPS} allowed")
        if resolvers:
            faults.append(f"{path}: {resolvers} relocations that call a resolver (ifunc, target_clones)")
    return "\n".join(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or 0)
