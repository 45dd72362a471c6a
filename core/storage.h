// core/storage.h: the memory behind tensors. The only place a data pointer lives.
#pragma once
#include <atomic>

#include "core/export.h"
#include "core/ref.h"

namespace KINDLING_VISIBLE kindling {

enum class DeviceType : uint8_t {
    CPU,
    Meta,
    CUDA,
    Private,
    Private2,
    Private3, // brought by plug-ins, under names of their own
    // Known by name only: programs ask for them and are told that they are not there.
    IPU,
    XPU,
    MKLDNN,
    OpenGL,
    OpenCL,
    IDEEP,
    HIP,
    VE,
    FPGA,
    MAIA,
    XLA,
    Lazy,
    Vulkan,
    MPS,
    HPU,
    MTIA,
};
inline constexpr int device_type_count = static_cast<int>(DeviceType::MTIA) + 1, private_count = 3;
constexpr bool is_private(DeviceType type) { return type >= DeviceType::Private && type <= DeviceType::Private3; }

struct Device {
    DeviceType type = DeviceType::CPU;
    int8_t index = -1;
    bool operator==(const Device&) const = default;
    /// As tensors name it: of the CPU and of meta there is one, whatever index a program gives.
    Device plain() const { return type == DeviceType::CPU || type == DeviceType::Meta ? Device{type} : *this; }
};
/// "cpu", "meta", "cuda:0".
const char* name(DeviceType type);

/// What a plug-in's device does with memory. The host never touches what `allocate` gives.
struct PrivateDevice {
    char name[32] = {};
    void* (*allocate)(void* context, size_t bytes, Device device) = nullptr;
    void (*free)(void* context, void* data, size_t bytes) = nullptr;
    void (*copy)(void* context, void* to, Device to_device, const void* from, Device from_device, size_t bytes) = nullptr;
    int (*current)(void* context) = nullptr; // the device that "toy" without a number means
    void* context = nullptr;
    bool on_host = false; // operators without a kernel there run on the host, their arguments copied
};
extern PrivateDevice private_devices[private_count];
inline PrivateDevice& private_device(DeviceType type) {
    return private_devices[static_cast<int>(type) - static_cast<int>(DeviceType::Private)];
}

struct Storage;
/// graph/: runs the loops that were put off and write this memory, or, where it `is_written`, those that read it as well. Then
/// there is memory.
void settle(Storage* storage, bool is_written);

struct Storage : RefCounted {
    using Deleter = void (*)(void* context, void* data, size_t bytes);

    /// Where it lies, for reading and writing: work that was put off and touches it runs first.
    void* data() {
        if (state.load(std::memory_order_acquire)) [[unlikely]]
            settle(this, true);
        return memory;
    }
    /// The same for reading alone: work that was put off and reads it stays so.
    void* data_to_read() {
        if (state.load(std::memory_order_acquire) > most_readers) [[unlikely]]
            settle(this, false);
        return memory;
    }

    /// Whether there is memory, or will be when it is asked for.
    bool has_memory() const { return memory || state.load(std::memory_order_acquire) & Unallocated; }
    /// What has been put off (graph/pending.h): how many queues have loops that touch it, and two bits.
    static constexpr uint32_t Unallocated = 1u << 31, Written = 1u << 30, most_readers = Written - 1;
    std::atomic<uint32_t> state{0};
    /// Whether nothing that was put off stands in the way of reading it now, or of writing it.
    bool is_there(bool to_write) const { return state.load(std::memory_order_acquire) <= (to_write ? 0 : most_readers); }
    std::atomic<uint32_t> slot{0}; // where the queue that met it last has it; the queue looks whether that is so
    void* memory = nullptr;        // for core/storage.cpp and graph/ alone: everybody else calls data()
    size_t bytes = 0;
    Deleter deleter = nullptr; // null: the allocator's block
    void* context = nullptr;
    Device device;
    bool resizable = true;
    bool shared = false;               // lies in shared memory
    bool hidden = false;               // not the allocator's, but nobody else has it
    std::atomic<uint32_t> exported{0}; // views held outside (numpy, DLPack, buffers)
    std::atomic<uint32_t> version{0};  // bumped by every in-place write through tensors that share it
    std::atomic<uint32_t> counters{0}; // VersionCounters that count here, and one for the memory, once there are any
    void* python = nullptr;            // the UntypedStorage object, if one was made

    /// Fresh, uninitialised memory on `device` (none for meta). RuntimeError when there is not enough.
    /// While the thread puts loops off, host memory is got at the first use, but for small pieces.
    static Ref<Storage> make(size_t bytes, Device device = {});
    void allocate_now();
    /// How many hold it, without the queues that have work on it.
    uint32_t owners() const { return use_count() - (state.load(std::memory_order_relaxed) & most_readers); }
    /// Memory somebody else owns; `deleter` runs when the last tensor lets go.
    static Ref<Storage> adopt(void* data, size_t bytes, Deleter deleter, void* context, Device device = {});
    /// Grows or shrinks in place, keeping the common prefix.
    void resize(size_t bytes);
};
void release(Storage* storage);
/// Of a VersionCounter that counts with a storage: the header stays while it does, the memory need not.
void keep_count(Storage* storage);
void release_count(Storage* storage);

} // namespace kindling
