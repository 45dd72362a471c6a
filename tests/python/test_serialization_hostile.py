"""Damaged and hostile files: each is refused by a clear error, runs nothing, and allocates no more than it holds."""
import io
import os
import pickle
import signal
import struct
import subprocess
import sys
import zipfile

import kindling
import pytest
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_serialization import rewrite, write

REFUSED = (RuntimeError, pickle.UnpicklingError, ValueError, EOFError)


def archive(pickled, **records):
    """A well-formed archive around any pickle."""
    from kindling._saving.zip import Writer
    out = io.BytesIO()
    writer = Writer(out.write, "archive")
    for name, data in {"data.pkl": pickled, "byteorder": b"little", **records, "version": b"3\n"}.items():
        writer.write(name, data)
    writer.close()
    return io.BytesIO(out.getvalue())


def tensor_pickle(size, stride, offset=0, storage=b"FloatStorage", numel=4, key=b"0", function=b"_rebuild_tensor_v2",
                  location=b"cpu"):
    """The pickle of one tensor, its numbers as asked for."""
    def number(n):
        data = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
        return b"\x8a" + bytes([len(data)]) + data

    def text(t):
        return b"X" + struct.pack("<I", len(t)) + t

    def numbers(values):
        return b"(" + b"".join(map(number, values)) + b"t"
    return (b"\x80\x02ctorch._utils\n" + function + b"\n((" + text(b"storage") + b"ctorch\n" + storage + b"\n" + text(key)
            + text(location) + number(numel) + b"tQ" + number(offset) + numbers(size) + numbers(stride)
            + b"\x89ccollections\nOrderedDict\n)RtR.")


def test_the_helper_makes_good_files():
    data = tensor_pickle((2, 2), (2, 1))
    file = archive(data, **{"data/0": struct.pack("<4f", 1, 2, 3, 4)})
    assert kindling.load(file).tolist() == [[1, 2], [3, 4]]
    file.seek(0)
    assert torch.load(file).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("size, stride, offset", [
    ((5,), (1,), 0), ((4,), (1,), 1), ((2, 2), (4, 1), 0), ((10**12,), (1,), 0), ((2**62, 2**62), (1, 1), 0), ((4,), (-1,), 3),
    ((-1,), (1,), 0), ((4,), (1,), -1), ((4,), (), 0), ((2**63,), (0,), 0), ((2**70,), (1,), 0), ((1,) * 100, (1,) * 100, 0),
    ((2,), (2**62,), 0), ((), (), 4), ((0,), (1,), 5)])
def test_views_outside_their_storage(size, stride, offset):
    file = archive(tensor_pickle(size, stride, offset), **{"data/0": bytes(16)})
    with pytest.raises(RuntimeError, match="rebuilding a tensor"):
        kindling.load(file)


@pytest.mark.parametrize("options", [
    {"numel": 5}, {"numel": 3}, {"numel": 10**15}, {"numel": -1}, {"key": b"1"}, {"key": b"../0"}, {"storage": b"DoubleStorage"},
    {"location": b"nowhere"}, {"storage": b"NoStorage"}, {"function": b"_rebuild_nothing"}, {"function": b"_rebuild_qtensor"}])
def test_storages_that_do_not_match(options):
    with pytest.raises(REFUSED):
        kindling.load(archive(tensor_pickle((2, 2), (2, 1), **options), **{"data/0": bytes(16)}))


@pytest.mark.parametrize("pickled, words", [
    (b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.", "os.system whose module os is blocked"),
    (b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.", "posix.system"),
    (b"\x80\x02c__builtin__\neval\nX\x01\x00\x00\x001\x85R.", "GLOBAL eval was not an allowed global"),
    (b"\x80\x02cbuiltins\ngetattr\nX\x01\x00\x00\x001\x85R.", "GLOBAL getattr"),
    (b"\x80\x04\x8c\x08builtins\x8c\x04exec\x93\x8c\x01x\x85R.", "GLOBAL exec"),
    (b"\x80\x02csubprocess\nPopen\nX\x04\x00\x00\x00true\x85R.", "subprocess.Popen"),
    (b"\x80\x02ctorch.serialization\nload\nX\x01\x00\x00\x00a\x85R.", "torch.serialization.load"),
    (b"\x80\x02ctorch\nload\nX\x01\x00\x00\x00a\x85R.", "torch.load"),
    (b"\x80\x02ctorch.storage\n_load_from_bytes\nX\x01\x00\x00\x00a\x85R.", "_load_from_bytes"),
    (b"\x80\x02ctorch.hub\nload\n)R.", "torch.hub.load"),
    (b"\x80\x02ctorch\nTensor\nJ\xff\xff\xff\x7f\x85R.", "Trying to call reduce"),
    (b"\x80\x02ctorch\nTensor\nJ\xff\xff\xff\x7f\x85\x81.", "Can only create new object"),
    (b"\x80\x02ctorch\nfloat32\n)R.", "Trying to call reduce"),
    (b"\x80\x02cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R.", "bytearray"),
    (b"\x80\x02ccollections\nOrderedDict\n]R.", "reduce"),
    (b"\x80\x02ccollections\nOrderedDict\n)R]b.", "attributes"),
    (b"\x80\x02}X\x01\x00\x00\x00a)sb.", "damaged"),
    (b"\x80\x02X\x01\x00\x00\x00a)R.", "Trying to call reduce"),
    (b"\x80\x02Nb.", "damaged"),
    (b"\x80\x02]Nb.", "Can only build"),
    (b"\x80\x02)Na.", "Can only append"),
    (b"\x80\x02]NNs.", "Can only SETITEM"),
    (b"\x80\x02}(Nu.", "key without a value"),
    (b"\x80\x02}]Ns.", "cannot be a key"),
    (b"\x80\x02}]\x85Ns.", "cannot be a key"),
    (b"\x80\x02cbuiltins\nset\n]]a\x85R.", "cannot be a key"),
    (b"\x80\x02K\x01Q.", "Only persistent_load of storage"),
    (b"\x80\x02X\x01\x00\x00\x00aQ.", "Only persistent_load of storage"),
    (b"\x80\x02X\xff\xff\xff\xffa.", "truncated"),
    (b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7fa.", "truncated"),
    (b"\x80\x02\x8b\xff\xff\xff\x7fa.", "truncated"),
    (b"\x80\x02h\x05.", "damaged"),
    (b"\x80\x02t.", "damaged"),
    (b"\x80\x02", "ends early"),
    (b"\x80\x09N.", "protocol"),
    (b"\x80\x02i__main__\nA\n.", "Unsupported operand 105"),
    (b"\x80\x02\x82\x01.", "Unsupported operand 130"),
    (b"\x80\x02cos", "truncated"),
    (b"\x80\x02X\x01\x00\x00\x00\xffX.", "damaged"),
    (b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R.", "encode"),
    (b"\x80\x02ctorch\ndevice\nX\x03\x00\x00\x00abc\x85R.", "device"),
])
def test_pickles_that_are_refused(pickled, words):
    with pytest.raises(REFUSED, match=words) as caught:
        kindling.load(archive(pickled))
    assert "Weights only load failed" in str(caught.value) or isinstance(caught.value, RuntimeError)


def test_unknown_globals_are_refused_with_torchs_words():
    pickled = b"\x80\x02cmypackage.models\nNet\n)\x81."
    messages = []
    for module in (torch, kindling):
        with pytest.raises(pickle.UnpicklingError) as caught:
            module.load(archive(pickled))
        messages.append(str(caught.value))
    for words in ("Weights only load failed", "Unsupported global: GLOBAL mypackage.models.Net was not an allowed global by default. "
                  "Please use `torch.serialization.add_safe_globals([mypackage.models.Net])` or the "
                  "`torch.serialization.safe_globals([mypackage.models.Net])` context manager to allowlist this global if you "
                  "trust this class/function."):
        assert words in messages[0] and words in messages[1]


def test_blocked_modules_stay_blocked_when_allowed():
    with kindling.serialization.safe_globals([(os.system, "os.system")]):
        with pytest.raises(pickle.UnpicklingError, match="blocked"):
            kindling.load(archive(b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R."))


def test_attributes_cannot_be_special():
    tensor = tensor_pickle((4,), (1,))[2:-1]
    state = b"}X\x09\x00\x00\x00__class__Ns"
    pickled = (b"\x80\x02ctorch._utils\n_rebuild_parameter_with_state\n(" + tensor + b"\x88ccollections\nOrderedDict\n)R" + state
               + b"tR.")
    with pytest.raises(RuntimeError, match="not allowed"):
        kindling.load(archive(pickled, **{"data/0": bytes(16)}))


def nested(opcode, count):
    return b"\x80\x02" + opcode * count


@pytest.mark.parametrize("pickled", [
    b"\x80\x02}" + b")" + b"\x85" * 1_000_000 + b"Ns.",              # a key nested a million deep: hashing would overflow
    b"\x80\x02}" + b")q\x00" + b"h\x00h\x00\x86q\x00" * 200 + b"Ns.",  # a key of 2**200 leaves
    b"\x80\x02cbuiltins\nset\n])" + b"\x85" * 1_000_000 + b"a\x85R.",
    b"\x80\x02ccollections\nOrderedDict\n](" + b")" + b"\x85" * 1_000_000 + b"N\x86ea\x85R.",
    b"\x80\x04\x8f()" + b"\x85" * 1_000_000 + b"\x90.",
    b"\x80\x04()" + b"\x85" * 1_000_000 + b"\x91.",
])
def test_keys_without_end(pickled):
    def ring(number, frame):
        raise TimeoutError("reading does not end")
    # Of the processor's time, which other jobs on the machine do not use up.
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, 60)
    try:
        with pytest.raises(pickle.UnpicklingError):
            kindling.load(archive(pickled))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_deep_nesting_is_data():
    value = kindling.load(archive(b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b"."))
    depth = 0
    while value:
        value, depth = value[0], depth + 1
    assert depth == 199_999


def test_small_files_cannot_ask_for_much_memory():
    """Copies made by calls in the file: each call names the same large string again."""
    text = b"X" + struct.pack("<I", 500_000) + b"a" * 500_000 + b"q\x00"
    call = b"h\x01h\x00X\x06\x00\x00\x00latin1\x86R"
    pickled = b"\x80\x02" + text + b"c_codecs\nencode\nq\x01(" + call * 20_000 + b"t."
    with pytest.raises(pickle.UnpicklingError, match="more memory"):
        kindling.load(archive(pickled))
    once = kindling.load(archive(b"\x80\x02" + text + b"c_codecs\nencode\nq\x01(" + call + b"t."))
    assert once == (b"a" * 500_000,)


def good():
    return write(torch, {"a": torch.arange(100.0), "b": [torch.ones(3, dtype=torch.int64)]})


def test_every_truncation():
    data = good()
    for end in range(len(data)):
        with pytest.raises(REFUSED):
            kindling.load(io.BytesIO(data[:end]))


def test_every_damaged_byte_of_the_data_is_seen():
    data = bytearray(good())
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as z:
        info = z.getinfo("archive/data/0")
    start = data.find(struct.pack("<3f", 0, 1, 2))
    assert info.file_size == 400 and start > 0
    for at in range(start, start + 400, 7):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        with pytest.raises(RuntimeError, match="checksum"):
            kindling.load(io.BytesIO(bytes(damaged)))


def directory(data):
    at = data.rfind(b"PK\x05\x06")
    return struct.unpack("<I", data[at + 16:at + 20])[0]


def test_archives_that_lie():
    data = good()
    start = directory(data)
    first = start
    entries = []
    while data[first:first + 4] == b"PK\x01\x02":
        entries.append(first)
        first += 46 + sum(struct.unpack("<HHH", data[first + 28:first + 34]))
    assert len(entries) == 8

    def changed(at, value):
        return io.BytesIO(data[:at] + value + data[at + len(value):])
    for at, value in [
            (entries[0] + 10, b"\x08\x00"),                       # compressed
            (entries[0] + 8, b"\x09\x08"),                        # encrypted
            (entries[4] + 20, struct.pack("<II", 1 << 31, 1 << 31)),  # larger than the file
            (entries[4] + 20, struct.pack("<II", 8, 8)),          # smaller than the tensor
            (entries[4] + 42, struct.pack("<I", 0)),              # another record's header
            (entries[4] + 42, struct.pack("<I", 0xFFFFFFFE)),     # outside the file
            (entries[4] + 42, struct.pack("<I", 0xFFFFFFFF)),     # promises a 64-bit field that is not there
            (entries[4] + 28, b"\xff\xff"),                       # a name beyond the directory
            (entries[4] + 46, b"archive/data.pk")]:               # a name its record does not bear
        with pytest.raises(RuntimeError):
            kindling.load(changed(at, value))
    for place in (data.rfind(b"PK\x06\x06") + 32, data.rfind(b"PK\x06\x06") + 40, data.rfind(b"PK\x06\x06") + 48,
                  data.rfind(b"PK\x06\x07") + 8):
        with pytest.raises(RuntimeError):
            kindling.load(changed(place, b"\xff" * 7))


def test_records_that_overlap_or_repeat():
    """Many names for the same bytes would make a small file large."""
    content = bytes(1 << 20)
    from kindling._saving.zip import Writer
    out = io.BytesIO()
    writer = Writer(out.write, "archive")
    writer.write("data.pkl", b"\x80\x02N.")
    writer.write("data/0", content)
    entry = writer.directory[-1]
    for i in range(1, 10):
        writer.directory.append(entry[:-1] + str(i).encode())
    writer.close()
    with pytest.raises(RuntimeError, match="records of"):
        kindling.load(io.BytesIO(out.getvalue()))
    out = io.BytesIO()
    writer = Writer(out.write, "archive")
    writer.write("data.pkl", b"\x80\x02N.")
    writer.write("data.pkl", b"\x80\x02K\x01.")
    writer.close()
    with pytest.raises(RuntimeError, match="two records"):
        kindling.load(io.BytesIO(out.getvalue()))


def test_other_files():
    for data in (b"", b"PK\x03\x04", b"hello world", bytes(1000), b"PK\x03\x04" + bytes(100), pickle.dumps([1, 2])):
        with pytest.raises(REFUSED):
            kindling.load(io.BytesIO(data))
    with pytest.raises(RuntimeError, match="failed locating file data.pkl"):
        kindling.load(io.BytesIO(rewrite(good(), lambda p: None)))
    script = rewrite(good(), lambda p: p)
    from kindling._saving.zip import Reader, Source, Writer
    source, out = Reader(Source(io.BytesIO(script))), io.BytesIO()
    writer = Writer(out.write, "archive")
    for name in source.records:
        writer.write(name, source.read(name))
    writer.write("constants.pkl", b"\x80\x02).")
    writer.close()
    with pytest.raises(RuntimeError, match="TorchScript"):
        kindling.load(io.BytesIO(out.getvalue()))


def test_old_files_that_lie():
    data = write(torch, {"a": torch.arange(100.0)}, _use_new_zipfile_serialization=False)
    assert kindling.load(io.BytesIO(data))["a"].tolist() == list(range(100))
    for end in range(0, len(data)):
        with pytest.raises(REFUSED):
            kindling.load(io.BytesIO(data[:end]))
    huge = data.replace(b"Kd", b"J\xff\xff\xff\x7f")  # a storage of 2**31 elements
    assert huge != data
    with pytest.raises(RuntimeError, match="storages needs bytes"):
        kindling.load(io.BytesIO(huge))
    count = data.rfind(struct.pack("<q", 100))
    with pytest.raises(RuntimeError, match="should have 400 bytes"):
        kindling.load(io.BytesIO(data[:count] + struct.pack("<q", 99) + data[count + 8:]))


def test_fuzz():
    """10,000 changed files by default; KINDLING_FUZZ sets another number (a million by `./test --fuzz`)."""
    count = int(os.environ.get("KINDLING_FUZZ", "10000"))
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fuzz", "checkpoints.py")
    done = subprocess.run([sys.executable, script, "--count", str(count), "--seed", os.environ.get("KINDLING_FUZZ_SEED", "1")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert f"{count} files" in done.stdout


def test_sixty_four_bit_entries():
    """A directory entry whose numbers stand in its 64-bit field, as in archives above 4 GiB."""
    from kindling._saving.zip import Writer
    content, out = bytes(range(100)), io.BytesIO()
    writer = Writer(out.write, "archive")
    writer.write("data.pkl", tensor_pickle((25,), (1,), numel=25))
    writer.write("data/0", content)
    writer.write("version", b"3\n")
    entry = writer.directory[1]
    size, header = struct.unpack("<I", entry[24:28])[0], struct.unpack("<I", entry[42:46])[0]

    def wide(size, header, length=24):
        extra = struct.pack("<HHQQQ", 1, length, size, size, header)
        return (entry[:20] + b"\xff" * 8 + entry[28:30] + struct.pack("<H", len(extra)) + entry[32:42] + b"\xff" * 4 + entry[46:]
                + extra)
    for changed, good in ((wide(size, header), True), (wide(size, header + 1), False), (wide(1 << 40, header), False),
                          (wide(size, 1 << 62), False), (wide(size, header, 8), False), (wide(size, header, 60), False)):
        copy, end = io.BytesIO(out.getvalue()), Writer(None, "archive")
        copy.seek(0, 2)
        end.write_bytes, end.offset, end.directory = copy.write, copy.tell(), [writer.directory[0], changed, writer.directory[2]]
        end.close()
        copy.seek(0)
        if good:
            assert kindling.load(copy).numel() == 25
            copy.seek(0)
            assert torch.load(copy).numel() == 25
        else:
            with pytest.raises(RuntimeError):
                kindling.load(copy)
