// core/storage.cpp: creation, adoption, resizing and release of storages.
#include "core/storage.h"

#include <cstring>
#include <iterator>

#include "core/error.h"
#include "core/profile.h"
#include "core/thread_state.h"
#include "runtime/allocator.h"

namespace kindling {

constinit PrivateDevice private_devices[private_count] = {};

const char* name(DeviceType type) {
    static constexpr const char* names[] = {"cpu",    "meta", "cuda",   "privateuseone", "privateusetwo", "privateusethree",
                                            "ipu",    "xpu",  "mkldnn", "opengl",        "opencl",        "ideep",
                                            "hip",    "ve",   "fpga",   "maia",          "xla",           "lazy",
                                            "vulkan", "mps",  "hpu",    "mtia"};
    static_assert(std::size(names) == device_type_count);
    if (is_private(type) && private_device(type).name[0]) return private_device(type).name;
    return names[static_cast<int>(type)];
}

constexpr size_t small_memory = 32768; // bytes

Ref<Storage> Storage::make(size_t bytes, Device device) {
    auto storage = Ref<Storage>::adopt(new Storage);
    storage->device = device;
    if (is_private(device.type)) {
        PrivateDevice& there = private_device(device.type);
        if (bytes) storage->memory = there.allocate(there.context, bytes, device);
        storage->deleter = [](void* context, void* data, size_t size) {
            auto* here = static_cast<PrivateDevice*>(context);
            if (data) here->free(here->context, data, size);
        };
        storage->context = &there;
    } else if (bytes && device.type != DeviceType::Meta) {
        // A small piece costs less now than a second look at it later.
        if (thread_state.recording && bytes > small_memory) storage->state.store(Unallocated, std::memory_order_relaxed);
        else storage->memory = allocate(bytes);
    }
    storage->bytes = bytes;
    if (storage->memory) profile_memory(static_cast<int64_t>(bytes));
    return storage;
}

void Storage::allocate_now() {
    memory = allocate(bytes);
    profile_memory(static_cast<int64_t>(bytes));
    state.fetch_and(~Unallocated, std::memory_order_release);
}

Ref<Storage> Storage::adopt(void* data, size_t bytes, Deleter deleter, void* context, Device device) {
    auto storage = Ref<Storage>::adopt(new Storage);
    storage->memory = data;
    storage->bytes = bytes;
    storage->deleter = deleter;
    storage->context = context;
    storage->device = device;
    storage->resizable = false;
    return storage;
}

static void free_memory(Storage* storage) {
    if (storage->memory && (!storage->deleter || is_private(storage->device.type))) profile_memory(-static_cast<int64_t>(storage->bytes));
    if (storage->deleter) storage->deleter(storage->context, storage->memory, storage->bytes);
    else if (storage->memory) deallocate(storage->memory, storage->bytes);
}

void Storage::resize(size_t size) {
    if (size == bytes) return;
    KINDLING_CHECK(Runtime, resizable, "Trying to resize storage that is not resizable");
    KINDLING_CHECK(Runtime, exported.load() == 0 || size <= bytes,
                   "cannot grow a storage while its memory is in use outside (a NumPy array or buffer holds it)");
    if (device.type == DeviceType::Meta) {
        bytes = size;
        return;
    }
    if (state.load(std::memory_order_acquire)) settle(this, true);
    if (is_private(device.type)) {
        PrivateDevice& there = private_device(device.type);
        void* fresh = size ? there.allocate(there.context, size, device) : nullptr;
        if (memory && fresh) there.copy(there.context, fresh, device, memory, device, size < bytes ? size : bytes);
        free_memory(this);
        memory = fresh;
        bytes = size;
        return;
    }
    void* fresh = size ? allocate(size) : nullptr;
    if (memory && fresh) std::memcpy(fresh, memory, size < bytes ? size : bytes);
    free_memory(this);
    memory = fresh;
    bytes = size;
}

void release(Storage* storage) {
    if (!storage->drop()) return;
    free_memory(storage);
    if (storage->counters.load(std::memory_order_acquire)) [[unlikely]]
        return release_count(storage);
    delete storage;
}

void keep_count(Storage* storage) {
    // The caller's reference keeps the memory's own share from going meanwhile.
    if (storage->counters.fetch_add(1, std::memory_order_relaxed) == 0) storage->counters.fetch_add(1, std::memory_order_relaxed);
}

void release_count(Storage* storage) {
    if (storage->counters.fetch_sub(1, std::memory_order_acq_rel) == 1) delete storage;
}

} // namespace kindling
