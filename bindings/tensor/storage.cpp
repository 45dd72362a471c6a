// bindings/tensor/storage.cpp: UntypedStorage and Generator.
// Compiled for size.

#include "bindings/function.h"
#include "bindings/types.h"
#include "runtime/random.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace kindling::python {

// ---- UntypedStorage

struct StorageObject {
    PyObject_HEAD Storage* storage;
    PyObject* dict;
    PyObject* weak_references;
};
static PyTypeObject* storage_type;

PyObject* storage_object(Storage* storage) {
    if (!storage) Py_RETURN_NONE;
    if (storage->python) return Py_NewRef(static_cast<PyObject*>(storage->python));
    PyObject* self = storage_type->tp_alloc(storage_type, 0);
    if (!self) return nullptr;
    storage->retain();
    reinterpret_cast<StorageObject*>(self)->storage = storage;
    storage->python = self; // borrowed: the object clears it when it dies
    return self;
}
Storage* storage_of(PyObject* object) {
    if (PyType_IsSubtype(Py_TYPE(object), storage_type)) return reinterpret_cast<StorageObject*>(object)->storage;
    // torch.storage.TypedStorage keeps the bytes in _untyped_storage.
    static PyObject* name = nullptr;
    if (!name) name = PyUnicode_InternFromString("_untyped_storage");
    if (PyUnicode_Check(object) || PyLong_Check(object) || PyFloat_Check(object) || PyTuple_Check(object) || PyList_Check(object) ||
        is_tensor(object) || object == Py_None || is_dtype(object))
        return nullptr;
    PyObject* inner = PyObject_GetAttr(object, name);
    if (!inner) {
        PyErr_Clear();
        return nullptr;
    }
    Storage* result = PyType_IsSubtype(Py_TYPE(inner), storage_type) ? reinterpret_cast<StorageObject*>(inner)->storage : nullptr;
    Py_DECREF(inner);
    return result;
}

static Storage* of(PyObject* self) { return reinterpret_cast<StorageObject*>(self)->storage; }

static void storage_dealloc(PyObject* self) {
    auto* object = reinterpret_cast<StorageObject*>(self);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (object->weak_references) PyObject_ClearWeakRefs(self);
    Py_CLEAR(object->dict);
    if (object->storage) {
        if (object->storage->python == self) object->storage->python = nullptr;
        release(object->storage);
    }
    type->tp_free(self);
    Py_DECREF(type);
}
static int storage_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reinterpret_cast<StorageObject*>(self)->dict);
    return 0;
}
static int storage_clear(PyObject* self) {
    Py_CLEAR(reinterpret_cast<StorageObject*>(self)->dict);
    return 0;
}

static PyObject* storage_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"size", "device", nullptr};
    PyObject *size = nullptr, *device_arg = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:UntypedStorage", const_cast<char**>(keywords), &size, &device_arg)) return nullptr;
    return guarded([&]() -> PyObject* {
        Device device;
        if (device_arg && device_arg != Py_None && !device_of_object(device_arg, device)) throw_python();
        int64_t bytes = 0;
        Ref<Storage> storage;
        if (size && !PyLong_Check(size)) {
            Object bytes_object(checked(PyBytes_FromObject(size)));
            auto length = static_cast<size_t>(PyBytes_GET_SIZE(bytes_object.get()));
            storage = Storage::make(length, device);
            if (storage->data()) memcpy(storage->data(), PyBytes_AS_STRING(bytes_object.get()), length);
        } else {
            if (size && int_of_object(size, bytes) != Fit::Yes) throw_python();
            KINDLING_CHECK(Runtime, bytes >= 0, "UntypedStorage: the size must not be negative, got %lld", static_cast<long long>(bytes));
            storage = Storage::make(static_cast<size_t>(bytes), device);
        }
        PyObject* self = checked(type->tp_alloc(type, 0));
        storage->python = self;
        reinterpret_cast<StorageObject*>(self)->storage = storage.take();
        return self;
    });
}

static PyObject* storage_nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(of(self)->bytes); }
static PyObject* storage_sizeof(PyObject* self, PyObject*) { return PyLong_FromSize_t(sizeof(StorageObject) + of(self)->bytes); }
static Py_ssize_t storage_length(PyObject* self) { return static_cast<Py_ssize_t>(of(self)->bytes); }
/// False with an error set where there are bytes without memory.
static bool has_memory(Storage* s) {
    if (!settled(s)) return false;
    if (!s->bytes || s->data()) return true;
    PyErr_Format(PyExc_NotImplementedError, "Not available for '%s' device type", name(s->device.type));
    return false;
}
static PyObject* storage_data_ptr(PyObject* self, PyObject*) { return settled(of(self)) ? PyLong_FromVoidPtr(of(self)->data()) : nullptr; }
static PyObject* storage_element_size(PyObject*, PyObject*) { return PyLong_FromLong(1); }
static PyObject* storage_resizable(PyObject* self, PyObject*) { return PyBool_FromLong(of(self)->resizable); }
static PyObject* storage_is_shared(PyObject* self, PyObject*) { return PyBool_FromLong(of(self)->shared); }
static PyObject* storage_false(PyObject*, PyObject*) { Py_RETURN_FALSE; }
static PyObject* storage_device(PyObject* self, void*) { return device_object(of(self)->device); }
static PyObject* storage_is_cuda(PyObject*, void*) { Py_RETURN_FALSE; }
static PyObject* storage_cdata(PyObject* self, void*) { return PyLong_FromVoidPtr(of(self)); }
static PyObject* storage_self(PyObject* self, PyObject*) { return Py_NewRef(self); }
static PyObject* storage_resize(PyObject* self, PyObject* size) {
    int64_t bytes;
    Fit fit = int_of_object(size, bytes);
    if (fit != Fit::Yes || bytes < 0) {
        if (fit != Fit::Raised) PyErr_Format(PyExc_TypeError, "resize_ expects a size of at least 0, got %R", size);
        return nullptr;
    }
    return guarded([&]() -> PyObject* {
        of(self)->resize(static_cast<size_t>(bytes));
        return Py_NewRef(self);
    });
}
static PyObject* storage_copy(PyObject* self, PyObject* args) {
    PyObject* source;
    int non_blocking = 0;
    if (!PyArg_ParseTuple(args, "O|p:copy_", &source, &non_blocking)) return nullptr;
    Storage* from = storage_of(source);
    if (!from) {
        PyErr_Format(PyExc_TypeError, "copy_ expects a storage, not %s", Py_TYPE(source)->tp_name);
        return nullptr;
    }
    if (from->bytes != of(self)->bytes) {
        PyErr_Format(PyExc_RuntimeError, "size does not match, self was %zu bytes but src was %zu bytes", of(self)->bytes, from->bytes);
        return nullptr;
    }
    if (!settled(from) || !settled(of(self))) return nullptr;
    if (from->bytes && of(self)->data() && from->data()) memmove(of(self)->data(), from->data(), from->bytes);
    of(self)->version.fetch_add(1);
    return Py_NewRef(self);
}
static PyObject* storage_clone(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        Ref<Storage> copy = Storage::make(of(self)->bytes, of(self)->device);
        if (copy->data() && of(self)->data()) memcpy(copy->data(), of(self)->data(), copy->bytes);
        return storage_object(copy.get());
    });
}
static PyObject* storage_fill(PyObject* self, PyObject* value) {
    int64_t byte;
    if (int_of_object(value, byte) != Fit::Yes) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "fill_ expects an int");
        return nullptr;
    }
    if (!settled(of(self))) return nullptr;
    if (of(self)->data()) memset(of(self)->data(), static_cast<int>(byte), of(self)->bytes);
    of(self)->version.fetch_add(1);
    return Py_NewRef(self);
}

// Shared memory is a memfd: it has no name that could be left behind, survives a fork, and its descriptor can be handed
// to other processes (kindling/multiprocessing/reductions.py).
struct SharedMemory {
    int descriptor; // -1 when it was not kept
    size_t length;
};
static void unmap_shared(void* context, void* data, size_t) {
    auto* shared = static_cast<SharedMemory*>(context);
    munmap(data, shared->length);
    if (shared->descriptor >= 0) close(shared->descriptor);
    delete shared;
}
static void unmap_file(void* context, void* data, size_t) { munmap(data, reinterpret_cast<size_t>(context)); }

/// A storage over the first `bytes` of a memfd, which it then owns, by a descriptor if it shall be handed on. The caller closes
/// the descriptor when this throws.
static Ref<Storage> map_shared(int descriptor, size_t bytes, bool keep) {
    size_t length = bytes ? bytes : 1;
    void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    KINDLING_CHECK(Runtime, memory != MAP_FAILED, "unable to map %zu bytes of shared memory: %s", bytes, strerror(errno));
    Ref<Storage> storage = Storage::adopt(memory, bytes, unmap_shared, new SharedMemory{keep ? descriptor : -1, length});
    storage->shared = true;
    if (!keep) close(descriptor);
    return storage;
}
static Ref<Storage> make_shared_memory(size_t bytes) {
    int descriptor = memfd_create("kindling", MFD_CLOEXEC);
    KINDLING_CHECK(Runtime, descriptor >= 0, "unable to make shared memory: %s", strerror(errno));
    try {
        KINDLING_CHECK(Runtime, ftruncate(descriptor, static_cast<off_t>(bytes)) == 0, "unable to allocate shared memory of %zu bytes: %s",
                       bytes, strerror(errno));
        return map_shared(descriptor, bytes, true);
    } catch (...) {
        close(descriptor);
        throw;
    }
}
static void move_to_shared_memory(Storage* s) {
    KINDLING_CHECK(Runtime, s->exported.load() == 0,
                   "cannot share a storage while its memory is in use outside (a NumPy array or buffer holds it)");
    Ref<Storage> fresh = make_shared_memory(s->bytes);
    if (s->data() && s->bytes) memcpy(fresh->data(), s->data(), s->bytes);
    // The two change places, so that every tensor over this storage sees the shared memory.
    std::swap(s->memory, fresh->memory);
    std::swap(s->deleter, fresh->deleter);
    std::swap(s->context, fresh->context);
    s->resizable = false;
    s->shared = true;
}

static PyObject* storage_share(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        Storage* s = of(self);
        if (!s->shared && s->device.type != DeviceType::Meta) move_to_shared_memory(s);
        return Py_NewRef(self);
    });
}
/// _share_fd_cpu_() -> (descriptor, bytes). Moves the bytes into shared memory if need be; the storage keeps the descriptor.
static PyObject* storage_share_descriptor(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        Storage* s = of(self);
        KINDLING_CHECK(Runtime, s->device.type == DeviceType::CPU, "_share_fd_cpu_: only available on CPU");
        bool has = s->deleter == unmap_shared && static_cast<SharedMemory*>(s->context)->descriptor >= 0;
        if (!has) move_to_shared_memory(s);
        return Py_BuildValue("in", static_cast<SharedMemory*>(s->context)->descriptor, static_cast<Py_ssize_t>(s->bytes));
    });
}
/// _new_shared_fd_cpu(descriptor, bytes, keep=True): a storage over another process's shared memory. The caller's descriptor
/// stays the caller's; without `keep` the storage holds none, and is handed on by a copy.
static PyObject* storage_from_descriptor(PyObject*, PyObject* args) {
    int descriptor, keep = 1;
    Py_ssize_t bytes;
    if (!PyArg_ParseTuple(args, "in|p:_new_shared_fd_cpu", &descriptor, &bytes, &keep)) return nullptr;
    return guarded([&]() -> PyObject* {
        off_t length = lseek(descriptor, 0, SEEK_END);
        KINDLING_CHECK(Runtime, bytes >= 0 && length >= bytes, "_new_shared_fd_cpu: %zd bytes wanted of shared memory with %lld", bytes,
                       static_cast<long long>(length));
        int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
        KINDLING_CHECK(Runtime, own >= 0, "_new_shared_fd_cpu: %s", strerror(errno));
        try {
            return storage_object(map_shared(own, static_cast<size_t>(bytes), keep).get());
        } catch (...) {
            close(own);
            throw;
        }
    });
}
static PyObject* storage_new_shared(PyObject*, PyObject* size) {
    int64_t bytes;
    Fit fit = int_of_object(size, bytes);
    if (fit != Fit::Yes || bytes < 0) {
        if (fit != Fit::Raised) PyErr_Format(PyExc_TypeError, "_new_shared expects a size of at least 0, got %R", size);
        return nullptr;
    }
    return guarded([&]() -> PyObject* { return storage_object(make_shared_memory(static_cast<size_t>(bytes)).get()); });
}

/// UntypedStorage.from_file(filename, shared=False, nbytes=0)
static PyObject* storage_from_file(PyObject*, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"filename", "shared", "nbytes", nullptr};
    const char* filename;
    int shared = 0;
    Py_ssize_t bytes = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|pn:from_file", const_cast<char**>(keywords), &filename, &shared, &bytes))
        return nullptr;
    Object module(PyImport_ImportModule("os"));
    if (!module) return nullptr;
    Object file(PyObject_CallMethod(module.get(), "open", "sii", filename, shared ? 0102 : 0, 0666)); // O_RDWR | O_CREAT, or O_RDONLY
    if (!file) return nullptr;
    int descriptor = static_cast<int>(PyLong_AsLong(file.get()));
    off_t size = lseek(descriptor, 0, SEEK_END);
    size_t length = bytes > 0 ? static_cast<size_t>(bytes) : static_cast<size_t>(size);
    if (size < 0 || (static_cast<size_t>(size) < length && (!shared || ftruncate(descriptor, static_cast<off_t>(length)) != 0))) {
        close(descriptor);
        PyErr_Format(PyExc_RuntimeError, "unable to map file %s: it has %lld bytes, %zu were asked for", filename,
                     static_cast<long long>(size), length);
        return nullptr;
    }
    void* memory = mmap(nullptr, length ? length : 1, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (memory == MAP_FAILED) {
        PyErr_Format(PyExc_RuntimeError, "unable to map file %s", filename);
        return nullptr;
    }
    return guarded([&]() -> PyObject* {
        Ref<Storage> storage = Storage::adopt(memory, length, unmap_file, reinterpret_cast<void*>(length ? length : 1));
        storage->shared = shared;
        storage->hidden = !shared;
        return storage_object(storage.get());
    });
}

static int storage_buffer(PyObject* self, Py_buffer* view, int flags) {
    Storage* s = of(self);
    static char nothing = 0;
    if (s->device.type == DeviceType::Meta) {
        PyErr_SetString(PyExc_BufferError, "a meta storage has no memory");
        return -1;
    }
    if (!settled(s)) return -1;
    int rc = PyBuffer_FillInfo(view, self, s->data() ? s->data() : &nothing, static_cast<Py_ssize_t>(s->bytes), 0, flags);
    if (rc == 0) s->exported.fetch_add(1);
    return rc;
}
static void storage_release_buffer(PyObject* self, Py_buffer*) { of(self)->exported.fetch_sub(1); }
static PyObject* storage_memoryview(PyObject*, PyObject* object) {
    Storage* s = storage_of(object);
    if (!s) {
        PyErr_Format(PyExc_TypeError, "expected a storage, not %s", Py_TYPE(object)->tp_name);
        return nullptr;
    }
    PyObject* self = storage_object(s);
    PyObject* view = self ? PyMemoryView_FromObject(self) : nullptr;
    Py_XDECREF(self);
    return view;
}

static PyObject* storage_subscript(PyObject* self, PyObject* key) {
    Storage* s = of(self);
    if (PySlice_Check(key)) {
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(key, &start, &stop, &step) < 0) return nullptr;
        Py_ssize_t length = PySlice_AdjustIndices(static_cast<Py_ssize_t>(s->bytes), &start, &stop, step);
        if (step != 1) {
            PyErr_Format(PyExc_RuntimeError, "Trying to slice with a step of %zd, but only a step of 1 is supported", step);
            return nullptr;
        }
        // Shares the memory; the storage it came from lives as long.
        if (!has_memory(s)) return nullptr;
        return guarded([&]() -> PyObject* {
            s->retain();
            auto drop = [](void* context, void*, size_t) { release(static_cast<Storage*>(context)); };
            Ref<Storage> part = Storage::adopt(static_cast<char*>(s->data()) + start, static_cast<size_t>(length), drop, s, s->device);
            part->shared = s->shared;
            s->hidden = false; // from here on two storages have it
            return storage_object(part.get());
        });
    }
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) return nullptr;
    if (index < 0) index += static_cast<Py_ssize_t>(s->bytes);
    if (index < 0 || index >= static_cast<Py_ssize_t>(s->bytes)) {
        PyErr_Format(PyExc_IndexError, "index %zd out of range for storage of size %zu", index, s->bytes);
        return nullptr;
    }
    if (!has_memory(s)) return nullptr;
    return PyLong_FromLong(static_cast<unsigned char*>(s->data())[index]);
}
static int storage_assign(PyObject* self, PyObject* key, PyObject* value) {
    Storage* s = of(self);
    Py_ssize_t start, stop, step = 1;
    int64_t byte = 0;
    if (!value || int_of_object(value, byte) != Fit::Yes) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "can only set storage content with an int");
        return -1;
    }
    if (s->device.type == DeviceType::Meta) return 0;
    if (!has_memory(s)) return -1;
    if (PySlice_Check(key)) {
        if (PySlice_Unpack(key, &start, &stop, &step) < 0) return -1;
        Py_ssize_t length = PySlice_AdjustIndices(static_cast<Py_ssize_t>(s->bytes), &start, &stop, step);
        for (Py_ssize_t i = 0; i < length; i++) static_cast<unsigned char*>(s->data())[start + i * step] = static_cast<unsigned char>(byte);
    } else {
        Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (index == -1 && PyErr_Occurred()) return -1;
        if (index < 0) index += static_cast<Py_ssize_t>(s->bytes);
        if (index < 0 || index >= static_cast<Py_ssize_t>(s->bytes)) {
            PyErr_Format(PyExc_IndexError, "index %zd out of range for storage of size %zu", index, s->bytes);
            return -1;
        }
        static_cast<unsigned char*>(s->data())[index] = static_cast<unsigned char>(byte);
    }
    s->version.fetch_add(1);
    return 0;
}
static PyObject* storage_tolist(PyObject* self, PyObject*) {
    Storage* s = of(self);
    if (!has_memory(s)) return nullptr;
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(s->bytes));
    for (size_t i = 0; list && i < s->bytes; i++)
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), PyLong_FromLong(static_cast<unsigned char*>(s->data())[i]));
    return list;
}
static PyObject* storage_repr(PyObject* self) {
    Storage* s = of(self);
    if (!settled(s)) return nullptr;
    std::string text;
    for (size_t i = 0; i < s->bytes && s->data(); i++) text += " " + std::to_string(static_cast<unsigned char*>(s->data())[i]) + "\n";
    return PyUnicode_FromFormat("%s[torch.storage.UntypedStorage(device=%s) of size %zu]", text.c_str(), name(s->device.type), s->bytes);
}
static PyObject* storage_reduce(PyObject* self, PyObject*) {
    Storage* s = of(self);
    if (!settled(s)) return nullptr;
    PyObject* bytes = PyBytes_FromStringAndSize(static_cast<char*>(s->data()), s->data() ? static_cast<Py_ssize_t>(s->bytes) : 0);
    return bytes ? Py_BuildValue("O(N)", storage_type, bytes) : nullptr;
}
static PyObject* storage_deepcopy(PyObject* self, PyObject* memo) {
    PyObject* key = PyLong_FromVoidPtr(of(self));
    PyObject* known = key && PyDict_Check(memo) ? PyDict_GetItem(memo, key) : nullptr;
    PyObject* result = known ? Py_NewRef(known) : storage_clone(self, nullptr);
    if (!known && result && PyDict_Check(memo)) PyDict_SetItem(memo, key, result);
    Py_XDECREF(key);
    return result;
}

// ---- Generator

struct GeneratorObject {
    PyObject_HEAD Generator* generator;
    bool owned;
    PyObject* weak_references;
};
static PyTypeObject* generator_type;
static PyObject* default_generator_object;

static Generator& the(PyObject* self) {
    auto* object = reinterpret_cast<GeneratorObject*>(self);
    return object->generator ? *object->generator : default_generator();
}
Generator* generator_of(PyObject* object) { return PyType_IsSubtype(Py_TYPE(object), generator_type) ? &the(object) : nullptr; }
PyObject* generator_object(Generator* generator) {
    if (!generator) Py_RETURN_NONE;
    if (is_default(generator)) return Py_NewRef(default_generator_object);
    PyObject* self = generator_type->tp_alloc(generator_type, 0);
    if (!self) return nullptr;
    reinterpret_cast<GeneratorObject*>(self)->generator = generator;
    return self;
}
static PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"device", nullptr};
    PyObject* device_arg = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(keywords), &device_arg)) return nullptr;
    Device device;
    if (device_arg && device_arg != Py_None && !device_of_object(device_arg, device)) return nullptr;
    if (device.type != DeviceType::CPU && !is_private(device.type)) {
        PyErr_Format(PyExc_RuntimeError, "Device type %s is not supported for torch.Generator() api.", name(device.type));
        return nullptr;
    }
    PyObject* self = type->tp_alloc(type, 0);
    if (!self) return nullptr;
    auto* object = reinterpret_cast<GeneratorObject*>(self);
    object->generator = new Generator;
    if (device.type == DeviceType::CPU) device.index = -1; // there is one CPU, as for tensors
    object->generator->device = device;
    object->owned = true;
    return self;
}
static void generator_dealloc(PyObject* self) {
    auto* object = reinterpret_cast<GeneratorObject*>(self);
    PyTypeObject* type = Py_TYPE(self);
    if (object->weak_references) PyObject_ClearWeakRefs(self);
    if (object->owned) delete object->generator;
    type->tp_free(self);
    Py_DECREF(type);
}
static bool seed_of(PyObject* object, uint64_t& seed) {
    Object number(PyNumber_Index(object));
    if (!number) {
        PyErr_Clear();
        number = Object(PyNumber_Long(object)); // torch.manual_seed(1.0)
        if (!number) return false;
    }
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    if (overflow) {
        seed = PyLong_AsUnsignedLongLong(number.get());
        if (!PyErr_Occurred()) return true;
        PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        return false;
    }
    seed = static_cast<uint64_t>(value);
    return true;
}
static PyObject* generator_manual_seed(PyObject* self, PyObject* object) {
    uint64_t seed;
    if (!seed_of(object, seed)) return nullptr;
    return guarded([&] {
        the(self).manual_seed(seed);
        return Py_NewRef(self);
    });
}
static PyObject* generator_seed(PyObject* self, PyObject*) {
    return guarded([&] { return PyLong_FromUnsignedLongLong(the(self).seed()); });
}
static PyObject* generator_initial_seed(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(the(self).initial_seed()); }
static PyObject* generator_get_state(PyObject* self, PyObject*) {
    return guarded([&] {
        int64_t size = static_cast<int64_t>(Generator::state_bytes);
        Tensor state = make_tensor(IntList(&size, 1), DType::UInt8);
        the(self).get_state(state.data_ptr<uint8_t>());
        return wrap(state);
    });
}
static PyObject* generator_set_state(PyObject* self, PyObject* state) {
    return guarded([&]() -> PyObject* {
        KINDLING_CHECK(Type, is_tensor(state), "expected a torch.ByteTensor, but got %s", Py_TYPE(state)->tp_name);
        TensorImpl* impl = impl_of(state);
        KINDLING_CHECK(Type, impl->dtype == DType::UInt8 && impl->contiguous && impl->device.type == DeviceType::CPU,
                       "RNG state must be a torch.ByteTensor");
        the(self).set_state(static_cast<const uint8_t*>(impl->data()), static_cast<size_t>(impl->numel));
        return Py_NewRef(self);
    });
}
static PyObject* generator_clone(PyObject* self, PyObject*) {
    Object copy(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(generator_type)));
    if (!copy) return nullptr;
    return guarded([&] {
        the(copy.get()).copy_from(the(self));
        the(copy.get()).device = the(self).device;
        return copy.take();
    });
}
static PyObject* generator_device(PyObject* self, void*) { return device_object(the(self).device); }
static PyObject* generator_reduce(PyObject* self, PyObject*) {
    PyObject* rebuild = import("kindling._tensor", "_rebuild_generator");
    PyObject* state = rebuild ? generator_get_state(self, nullptr) : nullptr;
    if (!state) {
        Py_XDECREF(rebuild);
        return nullptr;
    }
    return Py_BuildValue("N(NK)", rebuild, state, static_cast<unsigned long long>(the(self).initial_seed()));
}

static PyTypeObject* add_type(PyObject* module, const char* name, PyType_Spec* spec) {
    PyObject* type = PyType_FromSpec(spec);
    if (type) {
        PyModule_AddObjectRef(module, name, type);
        set_module(reinterpret_cast<PyTypeObject*>(type));
    }
    return reinterpret_cast<PyTypeObject*>(type);
}

#define SLOT(NAME, FUNCTION) {Py_##NAME, reinterpret_cast<void*>(FUNCTION)}

} // namespace kindling::python

#include <structmember.h>

namespace kindling::python {

bool init_storage(PyObject* module) {
    static PyMethodDef storage_methods[] = {{"nbytes", storage_nbytes, METH_NOARGS, nullptr},
                                            {"__sizeof__", storage_sizeof, METH_NOARGS, nullptr},
                                            {"size", storage_nbytes, METH_NOARGS, nullptr},
                                            {"data_ptr", storage_data_ptr, METH_NOARGS, nullptr},
                                            {"element_size", storage_element_size, METH_NOARGS, nullptr},
                                            {"resizable", storage_resizable, METH_NOARGS, nullptr},
                                            {"is_shared", storage_is_shared, METH_NOARGS, nullptr},
                                            {"is_pinned", storage_false, METH_VARARGS, nullptr},
                                            {"cpu", storage_self, METH_NOARGS, nullptr},
                                            {"untyped", storage_self, METH_NOARGS, nullptr},
                                            {"resize_", storage_resize, METH_O, nullptr},
                                            {"copy_", storage_copy, METH_VARARGS, nullptr},
                                            {"clone", storage_clone, METH_NOARGS, nullptr},
                                            {"fill_", storage_fill, METH_O, nullptr},
                                            {"share_memory_", storage_share, METH_NOARGS, nullptr},
                                            {"_share_fd_cpu_", storage_share_descriptor, METH_NOARGS, nullptr},
                                            {"_new_shared_fd_cpu", storage_from_descriptor, METH_VARARGS | METH_STATIC, nullptr},
                                            {"_new_shared", storage_new_shared, METH_O | METH_STATIC, nullptr},
                                            {"from_file", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(storage_from_file)),
                                             METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
                                            {"tolist", storage_tolist, METH_NOARGS, nullptr},
                                            {"__reduce__", storage_reduce, METH_NOARGS, nullptr},
                                            {"__deepcopy__", storage_deepcopy, METH_O, nullptr},
                                            {"__copy__", storage_clone, METH_NOARGS, nullptr},
                                            {nullptr, nullptr, 0, nullptr}};
    static PyGetSetDef storage_getset[] = {{"device", storage_device, nullptr, nullptr, nullptr},
                                           {"is_cuda", storage_is_cuda, nullptr, nullptr, nullptr},
                                           {"_cdata", storage_cdata, nullptr, nullptr, nullptr},
                                           {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                                           {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyMemberDef storage_members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(StorageObject, dict), READONLY, nullptr},
                                            {"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weak_references), READONLY, nullptr},
                                            {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot storage_slots[] = {SLOT(tp_new, storage_new),
                                          SLOT(tp_dealloc, storage_dealloc),
                                          SLOT(tp_traverse, storage_traverse),
                                          SLOT(tp_clear, storage_clear),
                                          SLOT(tp_repr, storage_repr),
                                          SLOT(tp_methods, storage_methods),
                                          SLOT(tp_getset, storage_getset),
                                          SLOT(tp_members, storage_members),
                                          SLOT(mp_length, storage_length),
                                          SLOT(mp_subscript, storage_subscript),
                                          SLOT(mp_ass_subscript, storage_assign),
                                          SLOT(bf_getbuffer, storage_buffer),
                                          SLOT(bf_releasebuffer, storage_release_buffer),
                                          {0, nullptr}};
    static PyType_Spec storage_spec = {"torch.storage.UntypedStorage", sizeof(StorageObject), 0,
                                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, storage_slots};
    if (!(storage_type = add_type(module, "UntypedStorage", &storage_spec))) return false;
    PyModule_AddObjectRef(module, "StorageBase", reinterpret_cast<PyObject*>(storage_type));

    static PyMethodDef generator_methods[] = {{"manual_seed", generator_manual_seed, METH_O, nullptr},
                                              {"seed", generator_seed, METH_NOARGS, nullptr},
                                              {"initial_seed", generator_initial_seed, METH_NOARGS, nullptr},
                                              {"get_state", generator_get_state, METH_NOARGS, nullptr},
                                              {"set_state", generator_set_state, METH_O, nullptr},
                                              {"clone_state", generator_clone, METH_NOARGS, nullptr},
                                              {"__reduce__", generator_reduce, METH_NOARGS, nullptr},
                                              {nullptr, nullptr, 0, nullptr}};
    static PyGetSetDef generator_getset[] = {{"device", generator_device, nullptr, nullptr, nullptr},
                                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyMemberDef generator_members[] = {
        {"__weaklistoffset__", T_PYSSIZET, offsetof(GeneratorObject, weak_references), READONLY, nullptr}, {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot generator_slots[] = {SLOT(tp_new, generator_new),         SLOT(tp_dealloc, generator_dealloc),
                                            SLOT(tp_methods, generator_methods), SLOT(tp_getset, generator_getset),
                                            SLOT(tp_members, generator_members), {0, nullptr}};
    static PyType_Spec generator_spec = {"torch._C.Generator", sizeof(GeneratorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                         generator_slots};
    if (!(generator_type = add_type(module, "Generator", &generator_spec))) return false;
    default_generator_object = generator_type->tp_alloc(generator_type, 0);
    if (!default_generator_object || PyModule_AddObjectRef(module, "default_generator", default_generator_object) < 0) return false;
    static PyMethodDef functions[] = {{"_storage_memoryview", storage_memoryview, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
