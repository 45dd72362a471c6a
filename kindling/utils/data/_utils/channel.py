"""How tasks and batches travel between a loader and one of its workers.

One pair of sockets a worker, each message one packet: it arrives whole or not at all, whenever its sender is killed, and
the end of a worker is the end of its socket. What is large lies beside the packet in anonymous shared memory, whose
descriptors the packet carries; tensors stay where they arrive. Nothing of it has a name, so nothing can be left behind.
"""
import array
import copyreg
import errno
import io
import os
import pickle
import socket
import struct
import time
from collections import deque
from multiprocessing.reduction import ForkingPickler

import kindling as torch
from kindling.multiprocessing import reductions
from kindling.storage import TypedStorage

_INLINE = 8 << 10       # bytes of pickle that fit in the packet
_OWN = 32 << 10         # bytes from which a buffer gets memory of its own, freed when its tensor is
_MOST_OWN = 16          # such buffers in a message, which keeps far from the limit of open files
_MOST = 250             # descriptors in a packet (the kernel's limit is 253)
_VIEW = 1 << 20         # bytes of a storage that is shared, not copied, when a tensor sees less than half of it
_ALIGNMENT = 64
_HEADER = struct.Struct("=IQQ")     # buffers, and where the body lies in the last descriptor's memory (length 0: here)


def _memory(*parts):
    """The descriptor of new shared memory with these bytes."""
    descriptor = os.memfd_create("kindling-batch", os.MFD_CLOEXEC)
    try:
        for part in parts:
            view = memoryview(part)
            while view:
                view = view[os.write(descriptor, view):]
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _received(storage):
    return storage


class _Pickler(pickle.Pickler):
    def __init__(self, out, message):
        super().__init__(out, 5, buffer_callback=message.add)
        self.dispatch_table = {
            **copyreg.dispatch_table, **ForkingPickler._extra_reducers, torch.Tensor: message.reduce_tensor,
            torch.UntypedStorage: message.reduce_storage, TypedStorage: reductions.reduce_typed_storage}


class _Message:
    """An object as a packet and the descriptors beside it. Its buffers (of storages, and of NumPy arrays) are listed as
    (descriptor, first byte, bytes); descriptor -1 is the last, which holds all the small ones, one after another."""

    def __init__(self, obj):
        self.descriptors, self.own = [], []
        self.small, self.size = [], 0
        self.places = array.array("q")
        self.given = None
        try:
            out = io.BytesIO()
            _Pickler(out, self).dump(obj)
            body = self.places.tobytes() + out.getbuffer()
            begin = length = 0
            if len(body) > _INLINE:
                begin, length = self.size, len(body)
                self.small.append(body)
                body = b""
            if self.small:
                self.own.append(_memory(*self.small))
                self.descriptors.append(self.own[-1])
            self.packet = _HEADER.pack(len(self.places) // 3, begin, length) + body
        except BaseException:
            self.close()
            raise
        del self.small

    def reduce_tensor(self, tensor):
        storage = tensor.untyped_storage()
        if (storage.nbytes() >= _VIEW and not storage.is_shared() and tensor.device.type == "cpu"
                and tensor.numel() * tensor.element_size() < storage.nbytes() // 2):
            # One of many such views, probably: a dataset's samples.
            try:
                storage.share_memory_()
            except RuntimeError:
                pass    # seen from outside too: copied
        return reductions.reduce_tensor(tensor)

    def reduce_storage(self, storage):
        if storage.is_shared() and storage.nbytes() and len(self.descriptors) < _MOST - 1:
            self.given = storage._share_fd_cpu_()[0]
        return _received, (pickle.PickleBuffer(storage),)

    def add(self, buffer):
        """Finds a place for a buffer; called for each by the pickler."""
        view = buffer.raw()
        given, self.given = self.given, None
        if given is not None or len(view) >= _OWN and len(self.own) < _MOST_OWN and len(self.descriptors) < _MOST - 1:
            if given is None:
                given = _memory(view)
                self.own.append(given)
            self.places.extend((len(self.descriptors), 0, len(view)))
            self.descriptors.append(given)
        else:
            self.places.extend((-1, self.size, len(view)))
            padding = -len(view) % _ALIGNMENT
            self.small += (view, bytes(padding))
            self.size += len(view) + padding

    def send(self, to, flags=0):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", self.descriptors))]
        to.sendmsg((self.packet,), rights if self.descriptors else (), flags | socket.MSG_NOSIGNAL)

    def close(self):
        while self.own:
            os.close(self.own.pop())


def _read(packet, descriptors):
    """The object that a message says; takes the descriptors over."""
    memories = []
    try:
        for descriptor in descriptors:
            memories.append(torch.UntypedStorage._new_shared_fd_cpu(descriptor, os.fstat(descriptor).st_size, False))
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    buffers, begin, length = _HEADER.unpack_from(packet)
    with memoryview(packet)[_HEADER.size:] if length == 0 else memoryview(memories[-1])[begin:begin + length] as body:
        places = array.array("q")
        split = buffers * 3 * places.itemsize
        places.frombytes(body[:split])
        storages = []
        for place in range(0, len(places), 3):
            memory, first, size = places[place:place + 3]
            if size == 0:
                storages.append(torch.UntypedStorage(0))
            else:
                storages.append(memories[memory] if memory >= 0 else memories[-1][first:first + size])
        del memories
        return pickle.loads(body[split:], buffers=storages)


class Nothing(Exception):
    """No message is there yet."""


class Ended(Exception):
    """The other end is gone, and everything it sent has been read."""


class Channel:
    """One end of a pair of sockets. Where `waits` is false sending never waits: what the socket does not take is kept, and
    sent by `flush`."""

    def __init__(self, own, waits):
        self.socket = own
        self.flags = 0 if waits else socket.MSG_DONTWAIT
        self.pending = deque()

    def fileno(self):
        return self.socket.fileno()

    def send(self, obj):
        """Sends an object. OSError when the other end is gone; what pickling raises."""
        self.pending.append(_Message(obj))
        self.flush()

    def flush(self):
        """Sends what is kept, as far as the socket takes it."""
        while self.pending:
            try:
                self.pending[0].send(self.socket, self.flags)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ETOOMANYREFS:
                    self.pending.popleft().close()
                    raise
                # Too many descriptors on the way in all of the user's sockets.
                time.sleep(0.01)
                if self.flags:
                    return
            else:
                self.pending.popleft().close()

    def receive(self):
        """The next object, without waiting; raises `Nothing` or `Ended`, and what unpickling raises."""
        while True:
            try:
                packet, rights, flags, _ = self.socket.recvmsg(
                    _HEADER.size + _INLINE, socket.CMSG_SPACE(_MOST * 4), socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)
                break
            except BlockingIOError:
                raise Nothing from None
            except ConnectionResetError:
                continue    # the other end has not read all; what it sent comes after this
        if not packet:
            raise Ended
        descriptors = array.array("i")
        for _, _, data in rights:
            descriptors.frombytes(data[:len(data) // descriptors.itemsize * descriptors.itemsize])
        if flags & socket.MSG_CTRUNC:
            for descriptor in descriptors:
                os.close(descriptor)
            raise OSError(errno.EMFILE, "a batch could not be received, because this process has too many open files; "
                                        "see `ulimit -n`")
        return _read(packet, descriptors)

    def close(self):
        """Ends the connection, also where another process has inherited this end."""
        while self.pending:
            self.pending.popleft().close()
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass    # the other end is gone
        self.socket.close()


class Inherited:
    """Sockets that a forked child must close; to another kind of child they are not passed at all."""

    def __init__(self, sockets=()):
        self.sockets = sockets

    def __reduce__(self):
        return Inherited, ()

    def close(self):
        for each in self.sockets:
            each.close()
