// core/storage.h: the memory behind tensors. The only place a data pointer lives.
#pragma once
#include <atomic>

#include "core/export.h"
#include "core/ref.h"

namespace KINDLING_VISIBLE kindling {

enum class DeviceType : uint8_t { CPU, Meta, CUDA, Private };

struct Device {
    DeviceType type = DeviceType::CPU;
    int8_t index = -1;
    bool operator==(const Device&) const = default;
};
/// "cpu", "meta", "cuda:0".
const char* name(DeviceType type);

struct Storage : RefCounted {
    using Deleter = void (*)(void* context, void* data, size_t bytes);

    void* data = nullptr;
    size_t bytes = 0;
    Deleter deleter = nullptr;         // null: the allocator's block
    void* context = nullptr;
    Device device;
    bool resizable = true;
    bool shared = false;               // lies in shared memory
    std::atomic<uint32_t> exported{0}; // views held outside (numpy, DLPack, buffers)
    std::atomic<uint32_t> version{0};  // bumped by every in-place write through tensors that share it
    void* python = nullptr;            // the UntypedStorage object, if one was made

    /// Fresh, uninitialised memory on `device` (none for meta). RuntimeError when there is not enough.
    static Ref<Storage> make(size_t bytes, Device device = {});
    /// Memory somebody else owns; `deleter` runs when the last tensor lets go.
    static Ref<Storage> adopt(void* data, size_t bytes, Deleter deleter, void* context, Device device = {});
    /// Grows or shrinks in place, keeping the common prefix.
    void resize(size_t bytes);
};
void release(Storage* storage);

}  // namespace kindling
