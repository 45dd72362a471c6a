"""The writer that programs use."""
import os
import struct
import time
import zlib

import kindling as torch
from kindling.utils.tensorboard import _events

__all__ = ["FileWriter", "SummaryWriter"]


def _number(value):
    if isinstance(value, torch.Tensor):
        return float(value.detach().item())
    return float(value)


def _tensor(value):
    """A tensor on the CPU, without gradient, from tensors, arrays and nested lists."""
    if not isinstance(value, torch.Tensor):
        value = torch.as_tensor(value)
    return value.detach().cpu()


def _encode_png(pixels):
    """A PNG of an (height, width, channels) tensor of bytes, with 1, 3 or 4 channels."""
    height, width, channels = pixels.shape
    kind = {1: 0, 3: 2, 4: 6}[channels]
    raw = _bytes(pixels)
    stride = width * channels
    lines = b"".join(b"\0" + raw[row * stride:(row + 1) * stride] for row in range(height))

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def _bytes(tensor):
    return bytes(tensor.contiguous().view(-1).tolist())


def _to_pixels(tensor, dataformats):
    """An image in any order of dimensions as (height, width, channels) bytes; grey becomes colour, a batch a grid."""
    tensor = _tensor(tensor)
    formats = dataformats.upper()
    if len(set(formats)) != len(formats):
        raise AssertionError(f"You can not use the same dimension shordhand twice. input_format: {dataformats}")
    if tensor.dim() != len(formats):
        raise AssertionError("size of input tensor and input format are different. tensor shape: "
                             f"{tuple(tensor.shape)}, input_format: {dataformats}")
    if tensor.dtype == torch.uint8:
        tensor = tensor.to(torch.float32)
    else:
        tensor = tensor.to(torch.float32) * 255.0
    if "C" not in formats:
        tensor, formats = tensor.unsqueeze(-1), formats + "C"
    order = "NHWC" if "N" in formats else "HWC"
    tensor = tensor.permute(*[formats.index(each) for each in order])
    if "N" in formats:
        tensor = _grid(tensor)
    if tensor.shape[-1] == 1:
        tensor = tensor.expand(-1, -1, 3)
    return tensor.clamp(0, 255).to(torch.uint8)


def _grid(images, columns=8):
    """A batch of images as one, eight to a row."""
    count, height, width, channels = images.shape
    columns = min(count, columns)
    rows = -(-count // columns)
    canvas = torch.zeros(rows * height, columns * width, channels)
    for index in range(count):
        top, left = index // columns * height, index % columns * width
        canvas[top:top + height, left:left + width] = images[index]
    return canvas


def _image(pixels, rescale=1):
    if rescale != 1:
        import numpy
        from PIL import Image
        picture = Image.fromarray(numpy.asarray(pixels.tolist(), dtype="uint8"))
        size = int(pixels.shape[1] * rescale), int(pixels.shape[0] * rescale)
        pixels = torch.as_tensor(numpy.asarray(picture.resize(size)).copy())
    height, width, channels = pixels.shape
    return _events.data(4, _events.integer(1, height) + _events.integer(2, width) + _events.integer(3, channels)
                        + _events.data(4, _encode_png(pixels)))


def _default_bins():
    """Limits that grow by a tenth, to both sides of zero."""
    up = []
    limit = 1e-12
    while limit < 1e20:
        up.append(limit)
        limit *= 1.1
    return [-each for each in reversed(up)] + [0.0] + up


def _histogram(values, bins, max_bins):
    values = _tensor(values).reshape(-1).to(torch.float64)
    if values.numel() == 0:
        raise ValueError("The input has no element.")
    if bins == "tensorflow":
        limits = _default_bins()
    elif isinstance(bins, (list, tuple)):
        limits = [float(each) for each in bins]
    elif hasattr(bins, "tolist"):
        limits = [float(each) for each in bins.tolist()]
    else:
        import numpy
        limits = numpy.histogram_bin_edges(values.numpy(), bins=bins).tolist()
    counts = [0] * (len(limits) - 1)
    from bisect import bisect_right
    for each in values.tolist():
        if limits[0] <= each <= limits[-1]:
            counts[min(bisect_right(limits, each) - 1, len(counts) - 1)] += 1
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        limits = limits[::step] + ([] if (len(limits) - 1) % step == 0 else [limits[-1]])
        counts = [sum(counts[start:start + step]) for start in range(0, len(counts), step)]
    # Only the stretch that is not empty, with an empty bucket before it: the viewer takes its left edge from there.
    filled = [index for index, count in enumerate(counts) if count]
    if not filled:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = filled[0], filled[-1]
    buckets = [0, *counts[first:last + 1]]
    edges = limits[first:last + 2]
    return _events.data(5, b"".join((
        _events.double(1, values.min().item()), _events.double(2, values.max().item()),
        _events.double(3, values.numel()), _events.double(4, values.sum().item()),
        _events.double(5, values.dot(values).item()), _events.doubles(6, edges), _events.doubles(7, buckets))))


class FileWriter:
    """Appends events to a file in `log_dir`, which it makes."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self._folder = str(log_dir)
        self._flush_secs = flush_secs
        self._file = _events.EventFile(self._folder, filename_suffix)
        self._suffix = filename_suffix
        self._flushed = time.monotonic()

    def get_logdir(self):
        """The folder."""
        return self._folder

    def add(self, summary, step=None, wall_time=None):
        """Appends one summary."""
        if self._file.closed:
            self.reopen()
        self._file.add(_events.event(step, wall_time, summary=summary))
        if time.monotonic() - self._flushed >= self._flush_secs:
            self.flush()

    def flush(self):
        """Writes out what is buffered."""
        if not self._file.closed:
            self._file.flush()
        self._flushed = time.monotonic()

    def close(self):
        """Closes the file."""
        self._file.close()

    def reopen(self):
        """Goes on in a new file, if this one is closed."""
        if self._file.closed:
            self._file = _events.EventFile(self._folder, self._suffix)


class SummaryWriter:
    """Writes values, pictures and text of a training run for TensorBoard.

    Without `log_dir`, the folder is `runs/<time>_<host><comment>`.  Events are written out every `flush_secs` seconds,
    by `flush()` and by `close()`; also at the end of a `with` block.

        >>> with SummaryWriter("runs/one") as writer: writer.add_scalar("loss", 0.5, step)
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        if not log_dir:
            import socket
            stamp = time.strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{stamp}_{socket.gethostname()}{comment}")
        self.log_dir = str(log_dir)
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer = self.all_writers = None
        self._get_file_writer()
        self.default_bins = _default_bins()

    def _get_file_writer(self):
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                # The viewer drops what an earlier run wrote from that step on.
                start = _events.data(7, _events.integer(1, 1))
                self.file_writer._file.add(_events.event(self.purge_step) + start)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self):
        """The folder."""
        return self.log_dir

    def _add(self, tag, body, step, walltime, plugin=None):
        self._get_file_writer().add(_events.value(tag, body, plugin), step, walltime)

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """Adds a number."""
        value = _number(scalar_value)
        if new_style:
            # A tensor of one entry, float64 for double_precision.
            packed = _events.doubles(6, [value]) if double_precision else _events.data(5, struct.pack("<f", value))
            body = _events.data(8, _events.integer(1, 2 if double_precision else 1) + packed)
            self._add(tag, body, global_step, walltime, _events.metadata("scalars"))
        else:
            self._add(tag, _events.single(2, value), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Adds several numbers to be shown in one chart; each goes to a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        for tag, value in tag_scalar_dict.items():
            folder = f"{self._get_file_writer().get_logdir()}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers[folder].add(_events.value(main_tag, _events.single(2, _number(value))), global_step,
                                         walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """Adds a float32 tensor as it is."""
        tensor = _tensor(tensor).to(torch.float32)
        shape = b"".join(_events.data(2, _events.integer(1, size)) for size in tensor.shape)
        values = struct.pack(f"<{tensor.numel()}f", *tensor.reshape(-1).tolist())
        self._add(tag, _events.data(8, _events.integer(1, 1) + _events.data(2, shape) + _events.data(5, values)),
                  global_step, walltime, _events.metadata("tensor"))

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """Adds the distribution of values.  `bins` as numpy's, or "tensorflow"; ValueError for no values."""
        self._add(tag, _histogram(values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None,
                          walltime=None):
        """Adds a distribution that was counted elsewhere; ValueError unless limits and counts are as many."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        self._add(tag, _events.data(5, b"".join((
            _events.double(1, min), _events.double(2, max), _events.double(3, num), _events.double(4, sum),
            _events.double(5, sum_squares), _events.doubles(6, list(bucket_limits)),
            _events.doubles(7, list(bucket_counts))))), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """Adds a picture: bytes, or floats from 0 to 1, with dimensions in the order of `dataformats`."""
        self._add(tag, _image(_to_pixels(img_tensor, dataformats)), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Adds a batch of pictures as a grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1,
                             dataformats="CHW", labels=None):
        """Adds a picture with boxes (left, top, right, bottom) drawn into it; needs Pillow for labels and rescaling."""
        pixels = _to_pixels(img_tensor, dataformats).clone()
        boxes = _tensor(box_tensor).reshape(-1, 4).round().to(torch.int64).tolist()
        height, width = pixels.shape[:2]
        red = torch.tensor([255, 0, 0], dtype=torch.uint8)
        for left, top, right, bottom in boxes:
            left, right = (min(max(each, 0), width - 1) for each in (left, right))
            top, bottom = (min(max(each, 0), height - 1) for each in (top, bottom))
            for row in (top, bottom):
                pixels[row, left:right + 1, :3] = red
            for column in (left, right):
                pixels[top:bottom + 1, column, :3] = red
        if labels:
            import numpy
            from PIL import Image, ImageDraw
            picture = Image.fromarray(numpy.asarray(pixels.tolist(), dtype="uint8"))
            pen = ImageDraw.Draw(picture)
            for (left, top, _, _), label in zip(boxes, labels):
                pen.text((left + 1, top + 1), str(label), fill=(255, 0, 0))
            pixels = torch.as_tensor(numpy.asarray(picture).copy())
        self._add(tag, _image(pixels, rescale), global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """Adds a matplotlib figure, or a list of them, and closes it."""
        figures = figure if isinstance(figure, list) else [figure]
        import numpy
        pictures = []
        for each in figures:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            canvas = FigureCanvasAgg(each)
            canvas.draw()
            pictures.append(torch.as_tensor(numpy.asarray(canvas.buffer_rgba())[:, :, :3].copy()))
            if close:
                import matplotlib.pyplot
                matplotlib.pyplot.close(each)
        if isinstance(figure, list):
            self.add_image(tag, torch.stack(pictures), global_step, walltime, dataformats="NHWC")
        else:
            self.add_image(tag, pictures[0], global_step, walltime, dataformats="HWC")

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """Adds a sound: samples from -1 to 1, one channel, or of shape (1, length)."""
        import io
        import wave
        samples = _tensor(snd_tensor).to(torch.float32).squeeze()
        if samples.dim() != 1:
            raise AssertionError("input tensor should be 1 dimensional.")
        samples = (samples.clamp(-1, 1) * 32767.0).to(torch.int16).tolist()
        stream = io.BytesIO()
        with wave.open(stream, "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(sample_rate)
            sound.writeframes(struct.pack(f"<{len(samples)}h", *samples))
        self._add(tag, _events.data(6, _events.single(1, sample_rate) + _events.integer(2, 1)
                                    + _events.integer(3, len(samples)) + _events.data(4, stream.getvalue())
                                    + _events.data(5, "audio/wav")), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Adds text, shown as Markdown."""
        self._add(tag + "/text_summary", _events.text_tensor([text_string]), global_step, walltime,
                  _events.metadata("text", _events.integer(1, 0)))

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Adds a set of hyperparameters and the metrics it gave.  TypeError unless both are dicts, ValueError for
        values that are no number, text, bool or None."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        from kindling.utils.tensorboard import _hparams
        summaries = _hparams.summaries(hparam_dict, metric_dict, hparam_domain_discrete or {})
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for summary in summaries:
                writer.file_writer.add(summary)
            for name, value in metric_dict.items():
                writer.add_scalar(name, value, global_step)

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """Needs the traced graph of a model: NotImplementedError."""
        raise NotImplementedError("SummaryWriter.add_graph needs torch.jit.trace, which is not there yet")

    def flush(self):
        """Writes out everything added so far."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        """Writes out everything and closes the files."""
        if self.all_writers is None:
            return
        for writer in self.all_writers.values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.close()
