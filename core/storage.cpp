// core/storage.cpp: creation, adoption, resizing and release of storages.
#include "core/storage.h"

#include <cstring>
#include <iterator>

#include "core/error.h"
#include "core/profile.h"
#include "runtime/allocator.h"

namespace kindling {

constinit PrivateDevice private_devices[private_count] = {};

const char* name(DeviceType type) {
    static constexpr const char* names[] = {"cpu", "meta", "cuda", "privateuseone", "privateusetwo", "privateusethree", "ipu", "xpu", "mkldnn",
        "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan", "mps", "hpu", "mtia"};
    static_assert(std::size(names) == device_type_count);
    if (is_private(type) && private_device(type).name[0]) return private_device(type).name;
    return names[static_cast<int>(type)];
}

Ref<Storage> Storage::make(size_t bytes, Device device) {
    auto storage = Ref<Storage>::adopt(new Storage);
    storage->device = device;
    if (is_private(device.type)) {
        PrivateDevice& there = private_device(device.type);
        if (bytes) storage->data = there.allocate(there.context, bytes, device);
        storage->deleter = [](void* context, void* data, size_t size) {
            auto* here = static_cast<PrivateDevice*>(context);
            if (data) here->free(here->context, data, size);
        };
        storage->context = &there;
    } else if (bytes && device.type != DeviceType::Meta) {
        storage->data = allocate(bytes);
    }
    storage->bytes = bytes;
    if (storage->data) profile_memory(static_cast<int64_t>(bytes));
    return storage;
}

Ref<Storage> Storage::adopt(void* data, size_t bytes, Deleter deleter, void* context, Device device) {
    auto storage = Ref<Storage>::adopt(new Storage);
    storage->data = data;
    storage->bytes = bytes;
    storage->deleter = deleter;
    storage->context = context;
    storage->device = device;
    storage->resizable = false;
    return storage;
}

static void free_memory(Storage* storage) {
    if (storage->data && (!storage->deleter || is_private(storage->device.type))) profile_memory(-static_cast<int64_t>(storage->bytes));
    if (storage->deleter) storage->deleter(storage->context, storage->data, storage->bytes);
    else if (storage->data) deallocate(storage->data, storage->bytes);
}

void Storage::resize(size_t size) {
    if (size == bytes) return;
    KINDLING_CHECK(Runtime, resizable, "Trying to resize storage that is not resizable");
    KINDLING_CHECK(Runtime, exported.load() == 0 || size <= bytes,
                   "cannot grow a storage while its memory is in use outside (a NumPy array or buffer holds it)");
    if (device.type == DeviceType::Meta) { bytes = size; return; }
    if (is_private(device.type)) {
        PrivateDevice& there = private_device(device.type);
        void* memory = size ? there.allocate(there.context, size, device) : nullptr;
        if (data && memory) there.copy(there.context, memory, device, data, device, size < bytes ? size : bytes);
        free_memory(this);
        data = memory;
        bytes = size;
        return;
    }
    void* fresh = size ? allocate(size) : nullptr;
    if (data && fresh) std::memcpy(fresh, data, size < bytes ? size : bytes);
    free_memory(this);
    data = fresh;
    bytes = size;
}

void release(Storage* storage) {
    if (!storage->drop()) return;
    free_memory(storage);
    if (storage->counters.load(std::memory_order_acquire)) [[unlikely]] return release_count(storage);
    delete storage;
}

void keep_count(Storage* storage) {
    // The caller's reference keeps the memory's own share from going meanwhile.
    if (storage->counters.fetch_add(1, std::memory_order_relaxed) == 0) storage->counters.fetch_add(1, std::memory_order_relaxed);
}

void release_count(Storage* storage) {
    if (storage->counters.fetch_sub(1, std::memory_order_acq_rel) == 1) delete storage;
}

}  // namespace kindling
