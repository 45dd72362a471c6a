// runtime/allocator.h: the caching CPU allocator every storage comes from.
//
// Blocks are 64-byte aligned and come in size classes. Freed blocks are handed out again newest first, while their
// pages are mapped and warm: a first touch costs far more than the arithmetic on a page. Small blocks are cached per
// thread and cost a few nanoseconds; large ones are cached for the process, up to a limit.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/export.h"

namespace KINDLING_VISIBLE kindling {

/// At least `bytes` bytes, 64-byte aligned; null for 0 bytes. Throws OutOfMemory.
void* allocate(size_t bytes);
/// The same, every byte zero; cheaper than allocate and memset when the pages are fresh.
void* allocate_zeroed(size_t bytes);
/// Gives back what `allocate(bytes)` returned, from any thread. Null is allowed.
void deallocate(void* block, size_t bytes) noexcept;

struct AllocatorStats {
    uint64_t allocated_bytes;    // handed out now, rounded up to size classes
    uint64_t peak_bytes;         // the most of that (large blocks exactly, small ones by slab)
    uint64_t reserved_bytes;     // mapped from the system now
    uint64_t cached_bytes;       // large blocks kept for reuse
    uint64_t cache_limit;        // KINDLING_CACHE_LIMIT (bytes), a quarter of the memory by default
    uint64_t memory_limit;       // KINDLING_MEMORY_LIMIT (bytes), the most to map from the system; 0 for none
    uint64_t system_allocations; // large blocks and slabs mapped so far
};
AllocatorStats allocator_stats();
/// Returns the cached large blocks to the system.
void empty_cache() noexcept;
/// The most bytes of free large blocks to keep.
void set_cache_limit(size_t bytes) noexcept;
/// The most bytes to map from the system, 0 for no limit; what does not fit raises OutOfMemory. What is mapped stays.
void set_memory_limit(size_t bytes) noexcept;
/// Peaks count from now on.
void reset_peak_stats() noexcept;

} // namespace kindling
