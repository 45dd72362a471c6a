#include "core/storage.h"

#include <cstring>

#include "core/error.h"
#include "runtime/allocator.h"

namespace kindling {

const char* name(DeviceType type) {
    static constexpr const char* names[] = {"cpu", "meta", "cuda", "privateuseone"};
    return names[static_cast<int>(type)];
}

Ref<Storage> Storage::make(size_t bytes, Device device) {
    auto storage = Ref<Storage>::adopt(new Storage);
    storage->device = device;
    if (bytes && device.type != DeviceType::Meta) storage->data = allocate(bytes);
    storage->bytes = bytes;
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
    if (storage->deleter) storage->deleter(storage->context, storage->data, storage->bytes);
    else if (storage->data) deallocate(storage->data, storage->bytes);
}

void Storage::resize(size_t size) {
    if (size == bytes) return;
    KINDLING_CHECK(Runtime, resizable, "Trying to resize storage that is not resizable");
    KINDLING_CHECK(Runtime, exported.load() == 0 || size <= bytes,
                   "cannot grow a storage while its memory is in use outside (a NumPy array or buffer holds it)");
    if (device.type == DeviceType::Meta) { bytes = size; return; }
    void* fresh = size ? allocate(size) : nullptr;
    if (data && fresh) std::memcpy(fresh, data, size < bytes ? size : bytes);
    free_memory(this);
    data = fresh;
    bytes = size;
}

void release(Storage* storage) {
    if (!storage->drop()) return;
    free_memory(storage);
    delete storage;
}

}  // namespace kindling
