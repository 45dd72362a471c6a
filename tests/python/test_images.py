"""torch.ops.image, as torchvision calls it: pixels beside Pillow's, torchvision's layout, errors."""
import io
import subprocess

import numpy as np
import pytest
from PIL import Image

import kindling as torch

pytestmark = pytest.mark.kernels

torch.ops.load_library("anywhere/torchvision/image.so")     # never opened: its operators are built in
ops = torch.ops.image
UNCHANGED, GRAY, GRAY_ALPHA, RGB, RGBA = range(5)
PIXELS = np.random.default_rng(0).integers(0, 256, (7, 9, 4)).astype(np.uint8)
MODES = {"L": PIXELS[..., 0], "LA": PIXELS[..., :2], "RGB": PIXELS[..., :3], "RGBA": PIXELS}


def encoded(image, format, **options):
    file = io.BytesIO()
    image.save(file, format, **options)
    return torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)


def rows(image):
    return np.asarray(image).reshape(image.height, image.width, -1)


def check(found, expected, dtype=torch.uint8):
    assert found.dtype == dtype and found.permute(1, 2, 0).is_contiguous()
    np.testing.assert_array_equal(found.permute(1, 2, 0).numpy(), expected)


@pytest.mark.parametrize("mode", MODES)
def test_png(mode):
    data = encoded(Image.fromarray(MODES[mode], mode), "PNG")
    colors = MODES[mode][..., :3] if mode[0] == "R" else MODES[mode].reshape(7, 9, -1)[..., :1]
    alpha = MODES[mode][..., -1:] if mode[-1] == "A" else np.full((7, 9, 1), 255)
    # As libpng weighs colours when it is given 0.2989 and 0.587.
    gray = (colors.astype(int) @ [9794, 19234, 3740] >> 15)[..., None] if mode[0] == "R" else colors
    three = colors if mode[0] == "R" else np.repeat(colors, 3, 2)
    check(ops.decode_png(data, UNCHANGED), MODES[mode].reshape(7, 9, -1))
    check(ops.decode_image(data, GRAY), gray)
    check(ops.decode_image(data, GRAY_ALPHA), np.concatenate([gray, alpha], 2))
    check(ops.decode_image(data, RGB), three)
    check(ops.decode_image(data, RGBA), np.concatenate([three, alpha], 2))


def test_png_of_other_kinds():
    wide = PIXELS[..., 0].astype(np.uint16) * 257
    check(ops.decode_png(encoded(Image.fromarray(wide), "PNG"), UNCHANGED), wide[..., None], torch.uint16)
    assert ops.decode_png(encoded(Image.fromarray(wide), "PNG"), RGBA)[3].unique().tolist() == [65535]
    two = Image.fromarray(PIXELS[..., 0]).convert("1")
    check(ops.decode_png(encoded(two, "PNG"), UNCHANGED), rows(two.convert("L")))
    palette = Image.fromarray(PIXELS[..., :3]).quantize(60)
    check(ops.decode_png(encoded(palette, "PNG"), UNCHANGED), rows(palette))
    check(ops.decode_png(encoded(palette, "PNG"), RGB), rows(palette.convert("RGB")))


def test_jpeg():
    image = Image.fromarray(PIXELS[..., :3])
    data = encoded(image, "JPEG", quality=90)
    back = Image.open(io.BytesIO(bytes(data.tolist())))
    check(ops.decode_jpeg(data, UNCHANGED), rows(back))
    luminance = Image.open(io.BytesIO(bytes(data.tolist())))
    luminance.draft("L", luminance.size)
    check(ops.decode_jpeg(data, GRAY), rows(luminance))
    four = encoded(image.convert("CMYK"), "JPEG")
    check(ops.decode_jpeg(four, UNCHANGED), 255 - rows(Image.open(io.BytesIO(bytes(four.tolist())))))
    upright = Image.Exif()
    upright[0x112] = 6
    turned = ops.decode_image(encoded(image, "JPEG", exif=upright), RGB, True)
    assert turned.shape == (3, 9, 7) and ops.decode_image(encoded(image, "JPEG", exif=upright), RGB).shape == (3, 7, 9)


def test_gif_and_webp():
    frames = [Image.fromarray(np.roll(PIXELS[..., :3], shift, 0)) for shift in range(3)]
    film = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    found = ops.decode_image(film, RGB)
    assert found.shape == (3, 3, 7, 9) and ops.decode_gif(encoded(frames[0], "GIF")).shape == (3, 7, 9)
    lossless = encoded(Image.fromarray(PIXELS), "WEBP", lossless=True, exact=True)
    check(ops.decode_image(lossless, UNCHANGED), PIXELS)
    check(ops.decode_webp(lossless, RGB), PIXELS[..., :3])
    with pytest.warns(UserWarning, match="does not support grayscale"):
        check(ops.decode_webp(lossless, GRAY), PIXELS)


def test_encoding():
    colors = torch.from_numpy(PIXELS[..., :3].copy()).permute(2, 0, 1)
    check(ops.decode_image(ops.encode_png(colors, 6), UNCHANGED), PIXELS[..., :3])
    assert torch.equal(ops.encode_jpeg(colors, 75), encoded(Image.fromarray(PIXELS[..., :3]), "JPEG", quality=75))


def test_files(tmp_path):
    data = torch.arange(256).to(torch.uint8)
    ops.write_file(str(tmp_path / "x"), data[::2])
    assert torch.equal(ops.read_file(str(tmp_path / "x")), data[::2])


def test_bad_input(tmp_path):
    good = encoded(Image.fromarray(PIXELS[..., :3]), "PNG")
    for call, words in ((lambda: ops.decode_png(torch.zeros(3), 0), "must have uint8 data type"),
                        (lambda: ops.decode_png(torch.zeros(0, dtype=torch.uint8), 0), "non-empty"),
                        (lambda: ops.decode_png(torch.zeros(9, dtype=torch.uint8), 0), "not a PNG image"),
                        (lambda: ops.decode_png(good[:150], 0), "damaged"),
                        (lambda: ops.decode_image(torch.zeros(9, dtype=torch.uint8), 0), "Unsupported image file"),
                        (lambda: ops.decode_jpeg(encoded(Image.fromarray(PIXELS[..., 0]), "JPEG"), RGBA), "mode is not supported"),
                        (lambda: ops.encode_jpeg(torch.zeros(2, 3, 3, dtype=torch.uint8), 75), "should be 1 or 3, got: 2"),
                        (lambda: ops.encode_png(torch.zeros(3, 3, 3, dtype=torch.uint8), 10), "between 0 and 9"),
                        (lambda: ops.encode_png(torch.zeros(3, 3, 3), 1), "uint8"),
                        (lambda: ops.read_file(str(tmp_path / "none")), "No such file"),
                        (lambda: ops.write_file(str(tmp_path / "no" / "x"), good), "Error opening")):
        with pytest.raises(RuntimeError, match=words):
            call()


def test_libraries_that_need_pytorch_are_refused(tmp_path):
    (tmp_path / "empty.c").write_text("int nothing;")
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libtorch_cpu.so", "empty.c", "-o", "libtorch_cpu.so"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,--no-as-needed", "empty.c", "libtorch_cpu.so", "-o", "linked.so"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "empty.c", "-o", "free.so"], cwd=tmp_path, check=True)
    with pytest.raises(OSError, match="needs PyTorch's own C\\+\\+ library"):
        torch.ops.load_library(str(tmp_path / "linked.so"))
    with pytest.raises(OSError):
        torch.ops.load_library(str(tmp_path / "absent.so"))
    torch.ops.load_library(tmp_path / "free.so")
    assert str(tmp_path / "free.so") in torch.ops.loaded_libraries
