"""Sequences of different lengths, packed for recurrent layers or padded into one tensor."""
from _operator import itemgetter

import kindling as torch
from kindling import _C

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pad_packed_sequence", "pad_sequence",
           "unpad_sequence", "pack_sequence", "unpack_sequence"]


def _moved(tensor, *args, **kwargs):
    return None if tensor is None else tensor.to(*args, **kwargs)


class PackedSequence(tuple):
    """Sequences sorted by length and laid out step by step: data (total length, *), batch_sizes per step.

    sorted_indices leads from the caller's order to the sorted one, unsorted_indices back. ValueError if batch_sizes is
    not on the CPU.
    """

    __slots__ = ()
    _fields = ("data", "batch_sizes", "sorted_indices", "unsorted_indices")
    __annotations__ = {"data": torch.Tensor, "batch_sizes": torch.Tensor, "sorted_indices": torch.Tensor | None, "unsorted_indices": torch.Tensor | None}

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is not None:
            if batch_sizes.device.type != "cpu":
                raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                                 "created manually. They should be instantiated by functions like pack_sequence and "
                                 "pack_padded_sequences in nn.utils.rnn. "
                                 "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence")
        else:
            # The old form: a pair as the only argument.
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        return tuple.__new__(cls, (data, batch_sizes, sorted_indices, unsorted_indices))

    data = property(itemgetter(0))
    batch_sizes = property(itemgetter(1))
    sorted_indices = property(itemgetter(2))
    unsorted_indices = property(itemgetter(3))

    def __getnewargs__(self):
        return tuple(self)

    def __repr__(self):
        return "PackedSequence({})".format(
            ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self)))

    def _asdict(self):
        return dict(zip(self._fields, self))

    def _replace(self, **changes):
        return type(self)(**{**self._asdict(), **changes})

    def to(self, *args, **kwargs):
        """The same with data moved or converted as Tensor.to does; self if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        # Indices follow to the device only.
        kwargs = {key: value for key, value in kwargs.items() if key not in ("dtype", "device")}
        sorted_indices = _moved(self.sorted_indices, data.device, **kwargs)
        unsorted_indices = _moved(self.unsorted_indices, data.device, **kwargs)
        return type(self)(data, self.batch_sizes, sorted_indices, unsorted_indices)

    def cuda(self, *args, **kwargs):
        """The same on a CUDA device."""
        example = torch.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        if example.is_cuda:
            return self.to(*args, **kwargs)
        kwargs["device"] = "cuda"
        return self.to(*args, **kwargs)

    def cpu(self, *args, **kwargs):
        """The same on the CPU."""
        return self.to("cpu", *args, **kwargs)

    def double(self):
        """The same in float64."""
        return self.to(dtype=torch.double)

    def float(self):
        """The same in float32."""
        return self.to(dtype=torch.float)

    def half(self):
        """The same in float16."""
        return self.to(dtype=torch.half)

    def long(self):
        """The same in int64."""
        return self.to(dtype=torch.long)

    def int(self):
        """The same in int32."""
        return self.to(dtype=torch.int)

    def short(self):
        """The same in int16."""
        return self.to(dtype=torch.short)

    def char(self):
        """The same in int8."""
        return self.to(dtype=torch.int8)

    def byte(self):
        """The same in uint8."""
        return self.to(dtype=torch.uint8)

    @property
    def is_cuda(self):
        return self.data.is_cuda

    def is_pinned(self):
        """Whether data is in page-locked memory."""
        return self.data.is_pinned()

    def pin_memory(self):
        """The same in page-locked memory."""
        return type(self)(self.data.pin_memory(), self.batch_sizes,
                          *(None if index is None else index.pin_memory()
                            for index in (self.sorted_indices, self.unsorted_indices)))


def invert_permutation(permutation: torch.Tensor | None) -> torch.Tensor | None:
    """The permutation that undoes this one; None for None."""
    if permutation is None:
        return None
    inverse = torch.empty_like(permutation, memory_format=torch.legacy_contiguous_format)
    inverse.scatter_(0, permutation, torch.arange(0, permutation.numel(), device=permutation.device))
    return inverse


def pack_padded_sequence(input: torch.Tensor, lengths: torch.Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True):
    """Packs padded sequences (T, N, *), or (N, T, *) with batch_first, of these lengths.

    With enforce_sorted they must be in order of decreasing length, else RuntimeError.
    """
    if not isinstance(lengths, torch.Tensor):
        lengths = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
    else:
        lengths = lengths.to(dtype=torch.int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = torch.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = torch._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def pad_packed_sequence(sequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Unpacks into one padded tensor and the lengths. ValueError if total_length is below the longest sequence."""
    longest = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < longest:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                             f"total_length={total_length} and max sequence length being {longest}")
        longest = total_length
    padded, lengths = torch._pad_packed_sequence(sequence.data, sequence.batch_sizes, batch_first, padding_value,
                                                 longest)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(sequences: torch.Tensor | list[torch.Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> torch.Tensor:
    """Stacks sequences (L_i, *) into (T, N, *), or (N, T, *) with batch_first, padded at one side.

    RuntimeError unless the sequences are a list of tensors (or one tensor) of equal trailing dimensions.
    """
    if not hasattr(sequences, "__iter__"):
        raise RuntimeError("pad_sequence: Expected iterable for input sequences, but got arg of type: "
                           f"{type(sequences)}")
    sequences = sequences.unbind(0) if isinstance(sequences, torch.Tensor) else tuple(sequences)
    return _C._nn.pad_sequence(sequences, batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: torch.Tensor, lengths: torch.Tensor, batch_first: bool = False) -> list[torch.Tensor]:
    """The sequences of a padded tensor, without their padding."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[:int(length)] for sequence, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences: list[torch.Tensor], enforce_sorted: bool = True):
    """Packs a list of sequences (L_i, *)."""
    lengths = torch.as_tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences) -> list[torch.Tensor]:
    """The sequences of a PackedSequence, as a list."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
