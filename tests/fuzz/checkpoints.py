"""Loads changed checkpoints and checks that nothing but a refusal or plain data ever comes of them.

    python tests/fuzz/checkpoints.py --count 10000 --seed 1

Each file is made from the seed and its number alone, so `--only N` repeats one. A file may load (the change hit nothing
that matters) or be refused with RuntimeError, UnpicklingError, ValueError or EOFError. Anything else fails: another
exception, an event that only running code causes (an audit hook watches), or memory beyond what the file justifies
(the address space is limited, and MemoryError counts as a failure). A crash ends the process, and with it the test.
"""
import argparse
import faulthandler
import io
import os
import pickle
import random
import resource
import struct
import sys
import time

import kindling
from kindling._saving import zip as _zip

REFUSED = (RuntimeError, pickle.UnpicklingError, ValueError, EOFError)
EVENTS = ("os.", "subprocess.", "socket.", "pickle.find_class", "ctypes.dlopen", "shutil.", "marshal.", "exec", "compile",
          "code.__new__", "import")
GLOBALS = [b"os\nsystem", b"builtins\neval", b"torch\nload", b"torch._utils\n_rebuild_tensor_v2", b"torch\nFloatStorage",
           b"torch._utils\n_rebuild_tensor_v3", b"torch._utils\n_rebuild_parameter", b"collections\nOrderedDict", b"torch\nSize",
           b"torch._utils\n_rebuild_parameter_with_state", b"torch._tensor\n_rebuild_from_type_v2", b"torch\nTensor",
           b"torch._utils\n_rebuild_meta_tensor_no_storage", b"torch\nuint16", b"torch\ndevice", b"builtins\nset", b"torch\nfloat32",
           b"builtins\nbytearray", b"_codecs\nencode", b"collections\nCounter", b"torch.storage\nUntypedStorage", b"builtins\ncomplex",
           b"torch._utils\n_rebuild_device_tensor_from_cpu_tensor", b"torch.serialization\n_get_layout",
           b"torch.nn.parameter\nParameter", b"torch._utils\n_rebuild_wrapper_subclass", b"torch._utils\n_rebuild_sparse_tensor"]
OPCODES = (b"(tRqhXKMJcQGN\x88\x89)}]\x8fsuae\x90\x91b\x81\x92\x8a\x8b\x94\x93\x8c\x8d\x43\x42\x8e\x96UT012\x95\x80.\x85\x86\x87rj")


def seeds():
    """Good files of every kind: (bytes, pickle or None)."""
    t = kindling
    t.manual_seed(0)
    x = t.arange(20.0)
    tagged = t.ones(2)
    tagged.note = "text"
    model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Linear(4, 2))
    optimizer = t.optim.Adam(model.parameters())
    model(t.ones(1, 3)).sum().backward()
    optimizer.step()
    objects = [
        x, {"x": x, "part": x[2:9:2], "i": t.ones(3, dtype=t.uint16), "p": t.nn.Parameter(t.ones(2)), "tag": tagged},
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 5},
        [None, True, 1, -1, 300, 70000, 2**70, 1.5, "text", b"bytes", bytearray(b"b"), (1, 2), {1, 2}, 1j, t.Size([2]), t.device("cpu"),
         t.float32, t.strided, {(1, ("a",)): 2}, t.empty(2, 3, device="meta")],
    ]
    for value in objects:
        for options in ({}, {"pickle_protocol": 4}, {"_use_new_zipfile_serialization": False}):
            out = io.BytesIO()
            t.save(value, out, **options)
            yield out.getvalue(), "_use_new_zipfile_serialization" not in options
    out = io.BytesIO()
    from kindling._saving.safetensors import save_safetensors
    save_safetensors({"a": t.ones(2, 3), "b": t.zeros(4, dtype=t.int64)}, out, {"k": "v"})
    yield out.getvalue(), None


def mutated(data, rng):
    """Some bytes of `data` changed, cut, repeated, moved, or replaced by telling values."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        if not data:
            break
        at, kind = rng.randrange(len(data)), rng.randrange(11)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.randrange(256)
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            del data[at:at + rng.randrange(1, 20)]
        elif kind == 4:
            data[at:at] = data[at:at + rng.randrange(1, 60)] * rng.randrange(1, 4)
        elif kind == 5:
            width = rng.choice((1, 2, 4, 8))
            value = rng.choice((0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**62, 2**63 - 1, 2**64 - 1, len(data)))
            data[at:at + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
        elif kind == 6:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
        elif kind == 7:
            other = rng.randrange(len(data))
            data[at:at + 8], data[other:other + 8] = data[other:other + 8], data[at:at + 8]
        elif kind == 8:
            data[at] = rng.choice(OPCODES)
        elif kind == 9:
            data[at:at] = b"c" + rng.choice(GLOBALS) + b"\n"
        else:
            data[at:at] = bytes(rng.choice(OPCODES) for _ in range(rng.randrange(1, 6)))
    return bytes(data)


FIXED = {0x4A: 4, 0x4B: 1, 0x4D: 2, 0x47: 8, 0x68: 1, 0x6A: 4, 0x71: 1, 0x72: 4, 0x80: 1, 0x95: 8}
COUNTED = {0x58: 4, 0x8C: 1, 0x8D: 8, 0x8A: 1, 0x8B: 4, 0x43: 1, 0x42: 4, 0x8E: 8, 0x96: 8}


def tokens(data):
    """The operations of a good pickle, each with its argument."""
    parts, at = [], 0
    while at < len(data):
        op, start = data[at], at
        at += 1
        if op == 0x63:
            at = data.index(b"\n", data.index(b"\n", at) + 1) + 1
        elif op in COUNTED:
            width = COUNTED[op]
            at += width + int.from_bytes(data[at:at + width], "little")
        else:
            at += FIXED.get(op, 0)
        parts.append(data[start:at])
    return parts


def shuffled(data, rng):
    """Whole operations of a good pickle dropped, repeated, exchanged or replaced: most of it still runs."""
    parts = tokens(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at, kind = rng.randrange(1, len(parts)), rng.randrange(7)
        if kind == 0:
            del parts[at]
        elif kind == 1:
            parts.insert(at, rng.choice(parts))
        elif kind == 2:
            other = rng.randrange(1, len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        elif kind == 3:
            numbers = [i for i, part in enumerate(parts) if part[0] in b"KMJ\x8a"] or [at]
            parts[rng.choice(numbers)] = number(rng)
        elif kind == 4:
            names = [i for i, part in enumerate(parts) if part[0] in b"ch"] or [at]
            parts[rng.choice(names)] = b"c" + rng.choice(GLOBALS) + b"\n"
        elif kind == 5:
            words = [i for i, part in enumerate(parts) if part[0] in b"X\x8c"] or [at]
            parts[rng.choice(words)] = text(rng)
        else:
            parts[at] = rng.choice((b"N", b"\x88", b")", b"]", b"}", b"h\x00", b"h\x01", b"h\x05"))
    return b"".join(parts)


def number(rng):
    value = rng.choice((0, 1, 2, 3, 4, 5, 10, 20, 80, 255, 2**31, 2**40, 2**62, 2**63 - 1, 2**63, 10**30, -1))
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def text(rng):
    word = rng.choice((b"storage", b"0", b"1", b"9", b"cpu", b"meta", b"cuda:0", b"latin1", b"conj", b"neg", b"__class__", b"data",
                       b"grad", b"torch.strided", b"torch.sparse_coo"))
    return b"X" + struct.pack("<I", len(word)) + word


def numbers(rng):
    return b"(" + b"".join(number(rng) for _ in range(rng.randrange(4))) + b"t"


def small(rng):
    """A size or stride that often fits."""
    return b"(" + b"".join(b"K" + bytes([rng.choice((0, 1, 1, 2, 3, 5))]) for _ in range(rng.randrange(3))) + b"t"


def storage(rng):
    kind = rng.choice((b"torch\nFloatStorage", b"torch\nFloatStorage", b"torch\nLongStorage", b"torch.storage\nUntypedStorage"))
    return (b"(X\x07\x00\x00\x00storagec" + kind + b"\nX\x01\x00\x00\x00" + rng.choice((b"0", b"0", b"1", b"7"))
            + b"X\x03\x00\x00\x00cpu" + rng.choice((b"K\x14", b"K\x14", b"K\x02", number(rng))) + b"tQ")


def tensor(rng, level=0):
    """A call that rebuilds a tensor, its arguments of the right kinds and often of wrong values."""
    kind = rng.randrange(8) if level < 4 else 0
    size, flag, hooks = rng.choice((small, small, numbers)), rng.choice((b"\x88", b"\x89")), b"ccollections\nOrderedDict\n)R"
    start = b"ctorch._utils\n_rebuild_"
    state = b"}(" + text(rng) + rng.choice((b"N", number(rng), text(rng))) + b"u"
    if kind < 3:
        metadata = rng.choice((b"", b"", b"}(" + text(rng) + flag + b"u"))
        return start + b"tensor_v2\n(" + storage(rng) + rng.choice((b"K\x00", number(rng))) + size(rng) + size(rng) + flag + hooks + metadata + b"tR"
    if kind == 3:
        return (start + b"tensor_v3\n(" + storage(rng) + b"K\x00" + size(rng) + size(rng) + flag + hooks
                + rng.choice((b"ctorch\nuint16\n", b"ctorch\nfloat32\n", b"ctorch\ncomplex128\n", number(rng))) + b"tR")
    if kind == 4:
        return start + b"parameter\n(" + tensor(rng, level + 1) + flag + hooks + b"tR"
    if kind == 5:
        return start + b"parameter_with_state\n(" + tensor(rng, level + 1) + flag + hooks + state + b"tR"
    if kind == 6:
        return (b"ctorch._tensor\n_rebuild_from_type_v2\n(" + start + b"tensor_v2\nctorch\nTensor\n(" + storage(rng) + b"K\x00" + size(rng)
                + size(rng) + flag + hooks + b"t" + state + b"tR")
    if rng.random() < 0.5:
        return start + b"device_tensor_from_cpu_tensor\n(" + tensor(rng, level + 1) + b"ctorch\nfloat64\n" + text(rng) + flag + b"tR"
    return start + b"meta_tensor_no_storage\n(ctorch\nfloat32\n" + size(rng) + size(rng) + flag + b"tR"


def program(rng):
    """A pickle of random operations that keep its stack in order: reaches further than damage does."""
    def value(level=0):
        kind = rng.randrange(16 if level < 4 else 5)
        if kind < 2:
            return number(rng)
        if kind == 2:
            return text(rng)
        if kind == 3:
            return rng.choice((b"N", b"\x88", b"\x89", b")", b"]", b"}"))
        if kind == 4:
            return b"c" + rng.choice(GLOBALS) + b"\n"
        if kind > 12:
            return tensor(rng)
        inner = [value(level + 1) for _ in range(rng.randrange(0, 4))]
        if kind < 7:
            return b"(" + b"".join(inner) + b"t"
        if kind == 7:
            return b"](" + b"".join(inner) + b"e"
        if kind == 8:
            return b"}(" + b"".join(text(rng) + item for item in inner) + b"u"
        if kind == 9:
            return storage(rng)
        if kind == 10:
            return value(level + 1) + value(level + 1) + b"b"
        if kind == 11:
            return value(level + 1) + b"q\x00h\x00\x86"
        return b"c" + rng.choice(GLOBALS) + b"\n(" + b"".join(inner) + rng.choice((b"tR", b"tR", b"t\x81"))
    return b"\x80\x02(" + b"".join(value() for _ in range(rng.randrange(1, 4))) + b"t."


def rebuilt(data, change):
    """The archive with its pickle changed and all checksums right."""
    archive, out = _zip.Reader(_zip.Source(io.BytesIO(data))), io.BytesIO()
    writer = _zip.Writer(out.write, "archive")
    for name in archive.records:
        content = archive.read(name)
        writer.write(name, change(content) if name == "data.pkl" else content)
    writer.close()
    return out.getvalue()


def make(number, seed, corpus):
    """The file of that number, and how it is loaded."""
    rng = random.Random(seed * 1_000_003 + number)
    data, zipped = rng.choice(corpus)
    if zipped and rng.random() < 0.9:
        change = rng.choice((lambda content: program(rng), lambda content: shuffled(content, rng),
                             lambda content: shuffled(content, rng), lambda content: mutated(content, rng)))
        data = rebuilt(data, change)
        if rng.random() < 0.1:
            data = mutated(data, rng)
    else:
        data = mutated(data, rng)
    return data, zipped is None, rng.choice((None, None, None, "cpu", "meta"))


def touch(value, left):
    """Looks at what was loaded: every tensor must be readable to its last element."""
    work = [value]
    while work and left:
        item, left = work.pop(), left - 1
        if isinstance(item, kindling.Tensor):
            if item.layout == kindling.strided and item.device.type == "cpu" and item.numel() < 100_000:
                item.sum() if item.numel() else None
        elif isinstance(item, dict):
            work.extend(item.values())
        elif isinstance(item, (list, tuple)):
            work.extend(item)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, help="this file alone, with its traceback")
    parser.add_argument("--keep", metavar="FILE", help="with --only: write the file")
    args = parser.parse_args()
    faulthandler.enable()
    corpus = list(seeds())
    for data, zipped in corpus:  # all that loading needs is loaded before the hook listens
        if zipped is None:
            kindling.load_safetensors(io.BytesIO(data))
        else:
            touch(kindling.load(io.BytesIO(data)), 10**6)
    # Devices that a changed name may ask for, and the refusal of sparse tensors.
    for name in ("cuda", "xpu", "mps", "mtia", "sparse_compressed_tensor"):
        getattr(kindling, name, None)
    for number in range(1000):
        attempt(make(number, args.seed + 1, corpus))
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # whose own bookkeeping needs more
        resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), resource.RLIM_INFINITY))
    seen, listening = [], [True]

    def watch(event, arguments):
        if listening[0] and event.startswith(EVENTS):
            seen.append((event, str(arguments)[:200]))
    sys.addaudithook(watch)
    if args.only is not None:
        made = make(args.only, args.seed, corpus)
        if args.keep:
            listening[0] = False
            with open(args.keep, "wb") as file:
                file.write(made[0])
        print(attempt(made, raising=True), seen)
        return
    results, slowest, start = {}, (0, 0), time.monotonic()
    for number in range(args.first, args.first + args.count):
        made = make(number, args.seed, corpus)
        before = time.monotonic()
        result = attempt(made)
        slowest = max(slowest, (time.monotonic() - before, number))
        results[result] = results.get(result, 0) + 1
        if seen or result.startswith("!"):
            listening[0] = False
            sys.exit(f"file {number} of seed {args.seed}: {result} {seen} (repeat with --seed {args.seed} --only {number})")
    listening[0] = False
    assert results.get("loaded", 0) > args.count // 100, results  # else the fuzzer only tests the front door
    assert slowest[0] < 10, slowest
    print(f"{args.count} files in {time.monotonic() - start:.0f} s, slowest {slowest[0] * 1000:.0f} ms: {results}")


def attempt(made, raising=False):
    data, safetensors, where = made
    try:
        if safetensors:
            touch(kindling.load_safetensors(io.BytesIO(data)), 1000)
        else:
            touch(kindling.load(io.BytesIO(data), map_location=where), 1000)
        return "loaded"
    except REFUSED as problem:
        if raising:
            raise
        return type(problem).__name__
    except BaseException as problem:
        if raising:
            raise
        return f"!{type(problem).__name__}: {str(problem)[:300]}"


if __name__ == "__main__":
    main()
