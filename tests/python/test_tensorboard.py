"""Event files, read back by a reader of the format that shares nothing with the writer."""
import io
import struct
import zlib

import pytest

import kindling
from kindling.utils.tensorboard import SummaryWriter


def checksum(data):
    crc = 0xffffffff
    for byte in data:
        for bit in range(8):
            odd = (crc ^ byte >> bit) & 1
            crc = crc >> 1 ^ (0x82f63b78 if odd else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(path):
    stream = io.BytesIO(path.read_bytes())
    while head := stream.read(12):
        length, crc = struct.unpack("<QI", head)
        assert crc == checksum(head[:8])
        body = stream.read(length)
        assert struct.unpack("<I", stream.read(4))[0] == checksum(body)
        yield decode(body)


def decode(data):
    """{field: [values]}: integers, 8 or 4 bytes, or bytes."""
    fields, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            value = varint()
        else:
            size = {1: 8, 2: None, 5: 4}[kind]
            size = varint() if size is None else size
            value = data[at:at + size]
            assert len(value) == size
            at += size
        fields.setdefault(number, []).append(value)
    return fields


def events(folder):
    (path,) = [each for each in folder.iterdir() if each.is_file()]
    first, *rest = records(path)
    assert first[3] == [b"brain.Event:2"]
    found = []
    for each in rest:
        summary = decode(decode(each[5][0])[1][0])
        found.append((summary[1][0].decode(), each.get(2, [None])[0], summary))
    return found


def test_scalars(tmp_path):
    with SummaryWriter(tmp_path / "run") as writer:
        for step in range(3):
            writer.add_scalar("loss", kindling.tensor(1.5 * step), step)
        writer.add_scalar("double", 0.1, 300, new_style=True, double_precision=True)
        writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 5)
    found = events(tmp_path / "run")
    assert [(tag, step, struct.unpack("<f", summary[2][0])[0]) for tag, step, summary in found[:3]] == [
        ("loss", 0, 0.0), ("loss", 1, 1.5), ("loss", 2, 3.0)]
    tag, step, summary = found[3]
    assert (tag, step, struct.unpack("<d", decode(summary[8][0])[6][0])[0]) == ("double", 300, 0.1)
    for name, value in (("a", 1.0), ("b", 2.0)):
        ((tag, step, summary),) = events(tmp_path / "run" / f"both_{name}")
        assert (tag, step, struct.unpack("<f", summary[2][0])[0]) == ("both", 5, value)


def doubles(data):
    return list(struct.unpack(f"<{len(data) // 8}d", data))


@pytest.mark.parametrize("bins", ["tensorflow", "auto", [-10.0, -1.0, 0.0, 1.0, 10.0]])
def test_histograms(tmp_path, bins):
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", kindling.linspace(-3, 3, 101), 2, bins=bins)
        with pytest.raises(ValueError, match="has no element"):
            writer.add_histogram("h", [])
    ((tag, step, summary),) = events(tmp_path)
    histogram = decode(summary[5][0])
    smallest, largest, count, total, squares = (struct.unpack("<d", histogram[number][0])[0] for number in range(1, 6))
    limits, counts = doubles(histogram[6][0]), doubles(histogram[7][0])
    assert (smallest, largest, count) == (-3, 3, 101) and abs(total) < 1e-4
    assert squares == pytest.approx(309.06, rel=1e-4)
    assert sum(counts) == 101 and len(limits) == len(counts) and limits == sorted(limits)
    assert counts[0] == 0 and counts[1] > 0 and counts[-1] > 0


def png(data):
    """(width, height, rows of bytes) of an uncompressed-filter PNG."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        (length,) = struct.unpack(">I", data[at:at + 4])
        name, content = data[at + 4:at + 8], data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(name + content)
        parts[name] = content
        at += 12 + length
    width, height, _, color = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    raw = zlib.decompress(parts[b"IDAT"])
    assert color == 2 and len(raw) == height * (1 + 3 * width)
    return width, height, [list(raw[row * (1 + 3 * width) + 1:(row + 1) * (1 + 3 * width)]) for row in range(height)]


def test_images(tmp_path):
    pixels = kindling.arange(12, dtype=kindling.uint8).reshape(2, 2, 3)
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("hwc", pixels, dataformats="HWC")
        writer.add_image("chw", pixels.permute(2, 0, 1))
        writer.add_image("grey", kindling.tensor([[0.0, 1.0], [0.5, 2.0]]), dataformats="HW")
        writer.add_images("grid", kindling.ones(10, 1, 2, 2))
        writer.add_image_with_boxes("box", kindling.zeros(3, 6, 6), kindling.tensor([[1, 1, 4, 4]]))
        with pytest.raises(AssertionError, match="are different"):
            writer.add_image("bad", pixels, dataformats="HW")
    images = {}
    for tag, _, summary in events(tmp_path):
        message = decode(summary[4][0])
        width, height, rows = png(message[4][0])
        assert (message[1], message[2], message[3]) == ([height], [width], [3])
        images[tag] = rows
    assert images["hwc"] == images["chw"] == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert images["grey"] == [[0, 0, 0, 255, 255, 255], [127, 127, 127, 255, 255, 255]]
    assert len(images["grid"]) == 4 and len(images["grid"][0]) == 16 * 3
    assert images["grid"][3][:6] == [255] * 6 and images["grid"][3][12:] == [0] * 36
    assert images["box"][1][3:15] == [255, 0, 0] * 4 and images["box"][2][6:9] == [0, 0, 0]


def test_text_tensors_and_sound(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("note", "some *text*", 1)
        writer.add_tensor("t", kindling.tensor([[1.0, 2.0]]))
        writer.add_audio("a", kindling.tensor([[0.0, 1.0, -1.0]]), sample_rate=8000)
    (text, _, note), (_, _, tensor), (_, _, sound) = events(tmp_path)
    assert text == "note/text_summary" and decode(note[8][0])[8] == [b"some *text*"]
    assert decode(decode(note[9][0])[1][0])[1] == [b"text"]
    assert struct.unpack("<2f", decode(tensor[8][0])[5][0]) == (1.0, 2.0)
    wave = decode(sound[6][0])
    assert wave[3] == [3] and struct.unpack("<3h", wave[4][0][-6:]) == (0, 32767, -32767)


def test_hyperparameters(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "name": "sgd", "amp": True}, {"acc": 0.5}, run_name="one")
        with pytest.raises(TypeError, match="should be dictionary"):
            writer.add_hparams([], {})
        with pytest.raises(ValueError, match="value should be one of"):
            writer.add_hparams({"a": []}, {})
    found = events(tmp_path / "one")
    assert [tag for tag, _, _ in found] == ["_hparams_/experiment", "_hparams_/session_start_info",
                                            "_hparams_/session_end_info", "acc"]
    content = decode(decode(decode(found[1][2][9][0])[1][0])[2][0])
    values = {entry[1][0].decode(): decode(entry[2][0])
              for entry in (decode(each) for each in decode(content[3][0])[1])}
    assert struct.unpack("<d", values["lr"][2][0])[0] == 0.1
    assert values["name"] == {3: [b"sgd"]} and values["amp"] == {4: [1]}


def test_folders_and_ends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    writer = SummaryWriter(comment="_mine", filename_suffix=".x")
    assert writer.get_logdir().startswith("runs") and writer.get_logdir().endswith("_mine")
    writer.add_scalar("a", 1.0)
    writer.close()
    writer.close()
    writer.add_scalar("a", 2.0)      # goes on in a new file
    writer.close()
    files = list((tmp_path / writer.get_logdir()).iterdir())
    assert len(files) == 2 and all(each.name.endswith(".x") for each in files)
    with pytest.raises(NotImplementedError, match="add_graph"):
        writer.add_graph(None)
