"""``torch.ops.image``: what torchvision's image library registers, by way of Pillow, which torchvision needs anyway.

Pixels are torchvision's: gray from colour by libpng's weights for PNG and by the luminance in the file for JPEG. Errors are
RuntimeErrors. Loaded when torchvision loads that library.
"""
import io
import os

import kindling as torch
from kindling.library import Library

UNCHANGED, GRAY, GRAY_ALPHA, RGB, RGB_ALPHA = range(5)
_CHANNELS = {GRAY: 1, GRAY_ALPHA: 2, RGB: 3, RGB_ALPHA: 4}
_SIGNATURES = ((b"\xff\xd8\xff", "JPEG"), (b"\x89PNG", "PNG"), (b"GIF8", "GIF"))


def _fail(name, why):
    raise RuntimeError(f"{name}: {why}")


def _encoded(data):
    if data.dtype != torch.uint8:
        raise RuntimeError(f"Input tensor must have uint8 data type, got {data.dtype}")
    if data.dim() != 1 or not data.numel():
        raise RuntimeError(f"Input tensor must be 1-dimensional and non-empty, got {data.dim()} dims and {data.numel()} numels.")
    return bytes(memoryview(data.contiguous().numpy()))


def _opened(name, content, format):
    from PIL import Image

    try:
        return Image.open(io.BytesIO(content), formats=[format])
    except Exception as error:
        _fail(name, f"not a {format} image, or a damaged one: {error}")


def _loaded(name, image):
    try:
        image.load()
    except Exception as error:
        _fail(name, f"the image is damaged: {error}")
    return image


def _tensor(image, upright=False):
    """The pixels, [channels, height, width], stored pixel by pixel as torchvision has them."""
    if upright:
        from PIL import ImageOps

        image = ImageOps.exif_transpose(image)
    dtype = torch.uint16 if image.mode.startswith("I;16") else torch.uint8
    pixels = torch.frombuffer(bytearray(image.tobytes()), dtype=dtype)
    return pixels.view(image.height, image.width, len(image.getbands())).permute(2, 0, 1)


def _gray(pixels):
    """As libpng weighs colours: 0.2989, 0.587 and the rest of 1, in 32768ths, rounded down."""
    r, g, b = pixels[:3].to(torch.int32)
    return (r * 9794 + g * 19234 + b * 3740).bitwise_right_shift(15).to(pixels.dtype)[None]


def decode_png(data, mode, apply_exif_orientation=False):
    name = "decode_png"
    image = _loaded(name, _opened(name, _encoded(data), "PNG"))
    if mode not in (UNCHANGED, *_CHANNELS):
        _fail(name, "The provided mode is not supported for PNG files")
    if image.mode == "1":
        image = image.convert("L")
    elif image.mode == "P" and mode != UNCHANGED:
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    pixels = _tensor(image, apply_exif_orientation)
    if mode == UNCHANGED or _CHANNELS[mode] == len(pixels):
        return pixels
    alpha = pixels[-1:] if len(pixels) in (2, 4) else torch.full_like(pixels[:1], torch.iinfo(pixels.dtype).max)
    colors = pixels[:3] if len(pixels) >= 3 else pixels[:1]
    if mode in (GRAY, GRAY_ALPHA):
        colors = _gray(colors) if len(colors) == 3 else colors
    elif len(colors) == 1:
        colors = colors.expand(3, -1, -1)
    parts = [colors, alpha] if mode in (GRAY_ALPHA, RGB_ALPHA) else [colors]
    return torch.cat([part.permute(1, 2, 0) for part in parts], 2).permute(2, 0, 1)


def decode_jpeg(data, mode, apply_exif_orientation=False):
    name = "decode_jpeg"
    image = _opened(name, _encoded(data), "JPEG")
    if mode not in (UNCHANGED, GRAY, RGB):
        _fail(name, "The provided mode is not supported for JPEG files")
    if mode == GRAY and image.mode == "RGB":
        image.draft("L", image.size)     # the luminance as it is in the file
    _loaded(name, image)
    if mode == UNCHANGED:
        pixels = _tensor(image, apply_exif_orientation)
        return pixels.bitwise_not() if image.mode == "CMYK" else pixels
    return _tensor(image.convert("L" if mode == GRAY else "RGB"), apply_exif_orientation)


def decode_webp(encoded_data, mode):
    name = "decode_webp"
    image = _loaded(name, _opened(name, _encoded(encoded_data), "WEBP"))
    if mode in (GRAY, GRAY_ALPHA):
        import warnings

        warnings.warn("Webp does not support grayscale conversions. The returned tensor will be in the colorspace of the original image.")
    wanted = {RGB: "RGB", RGB_ALPHA: "RGBA"}.get(mode, image.mode)
    return _tensor(image if image.mode == wanted else image.convert(wanted))


def decode_gif(data):
    from PIL import ImageSequence

    name = "decode_gif"
    image = _opened(name, _encoded(data), "GIF")
    try:
        frames = [_tensor(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]
    except Exception as error:
        _fail(name, f"the image is damaged: {error}")
    if len(frames) == 1:
        return frames[0]
    return torch.stack([frame.permute(1, 2, 0) for frame in frames]).permute(0, 3, 1, 2)


def decode_image(data, mode, apply_exif_orientation=False):
    content = _encoded(data)
    format = next((format for start, format in _SIGNATURES if content.startswith(start)),
                  "WEBP" if content[:4] == b"RIFF" and content[8:15] == b"WEBPVP8" else None)
    if format in ("JPEG", "PNG"):
        return (decode_jpeg if format == "JPEG" else decode_png)(data, mode, apply_exif_orientation)
    if format == "GIF":
        return decode_gif(data)
    if format == "WEBP":
        return decode_webp(data, mode)
    _fail("decode_image", "Unsupported image file. Only jpeg, png, webp and gif are currently supported. For avif and heic format, please "
          "rely on `decode_avif` and `decode_heic` directly.")


def _encode(name, data, format, **options):
    from PIL import Image

    if data.dtype != torch.uint8:
        _fail(name, "Input tensor dtype should be uint8")
    if data.dim() != 3:
        _fail(name, "Input data should be a 3-dimensional tensor")
    if len(data) not in (1, 3):
        _fail(name, f"The number of channels should be 1 or 3, got: {len(data)}")
    pixels = bytes(memoryview(data.permute(1, 2, 0).contiguous().view(-1).numpy()))
    image = Image.frombytes("L" if len(data) == 1 else "RGB", (data.size(2), data.size(1)), pixels)
    file = io.BytesIO()
    image.save(file, format, **options)
    return torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)


def encode_jpeg(data, quality):
    return _encode("encode_jpeg", data, "JPEG", quality=max(1, min(quality, 100)))


def encode_png(data, compression_level):
    if not 0 <= compression_level <= 9:
        _fail("encode_png", "Compression level should be between 0 and 9")
    return _encode("encode_png", data, "PNG", compress_level=compression_level)


def read_file(path):
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise RuntimeError(str(error)) from None
    if not content:
        _fail("read_file", "Expected a non empty file")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def write_file(path, data):
    if data.dtype != torch.uint8:
        _fail("write_file", "Input tensor dtype should be uint8")
    if data.dim() != 1:
        _fail("write_file", "Input data should be a 1-dimensional tensor")
    content = bytes(memoryview(data.contiguous().numpy()))
    try:
        with open(os.fspath(path), "wb") as file:
            file.write(content)
    except OSError as error:
        raise RuntimeError(f"Error opening output file: {error}") from None


library = Library("image", "FRAGMENT")
for schema in ("decode_png(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor",
               "decode_jpeg(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor",
               "decode_webp(Tensor encoded_data, int mode) -> Tensor", "decode_gif(Tensor data) -> Tensor",
               "decode_image(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor",
               "encode_jpeg(Tensor data, int quality) -> Tensor", "encode_png(Tensor data, int compression_level) -> Tensor",
               "read_file(str path) -> Tensor", "write_file(str path, Tensor data) -> ()"):
    library.define(schema)
    library.impl(schema.partition("(")[0], globals()[schema.partition("(")[0]], "CompositeExplicitAutograd")
