// runtime/allocator.cpp: size classes, caching, limits and statistics of the allocator.
#include "runtime/allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/error.h"

namespace kindling {
namespace {

[[noreturn, gnu::cold]] void out_of_memory(size_t bytes) {
    fail(ErrorKind::OutOfMemory,
         "[enforce fail at allocator.cpp] DefaultCPUAllocator: can't allocate memory: you tried to allocate %zu bytes. "
         "Error code 12 (Cannot allocate memory)",
         bytes);
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool bypass = true; // so that the sanitizer sees every block
#else
constexpr bool bypass = false;
#endif

// Size classes: multiples of 64 up to 1 KiB, then four steps for each doubling. Classes up to `small_limit` are carved
// from slabs; larger blocks are mappings of their own.
constexpr size_t small_limit = 256 << 10;
constexpr int fine_classes = 16;
constexpr int small_classes = fine_classes + 8 * 4; // up to 1024 << 8
constexpr int large_classes = 37 * 4;               // up to 2^55
constexpr size_t slab_bytes = 1 << 20;
constexpr size_t thread_cache_bytes = 256 << 10; // per class, beyond which half goes back

constexpr int class_of(size_t bytes) {
    if (bytes <= 1024) return static_cast<int>((bytes + 63) / 64) - 1;
    int top = std::bit_width(bytes - 1) - 1; // 2^top < bytes <= 2^(top+1), top >= 10
    int quarter = static_cast<int>(((bytes - 1) >> (top - 2)) & 3);
    return fine_classes + (top - 10) * 4 + quarter;
}
constexpr size_t class_bytes(int index) {
    if (index < fine_classes) return static_cast<size_t>(index + 1) * 64;
    int top = (index - fine_classes) / 4 + 10, quarter = (index - fine_classes) % 4;
    return (static_cast<size_t>(5 + quarter)) << (top - 2);
}
static_assert(class_of(64) == 0 && class_of(1) == 0 && class_of(1024) == 15 && class_of(1025) == 16);
static_assert(class_bytes(class_of(1025)) == 1280 && class_bytes(class_of(2048)) == 2048);
static_assert(class_of(small_limit) == small_classes - 1 && class_bytes(small_classes - 1) == small_limit);

struct FreeBlock {
    FreeBlock* next;
};

struct ThreadCache {
    FreeBlock* heads[small_classes];
    uint32_t counts[small_classes];
    int64_t allocated; // bytes handed out by this thread less bytes it took back
    ThreadCache* next;
    ThreadCache* previous;
};

// Large blocks start with this header, a cache line before the data.
struct alignas(64) LargeHeader {
    void* mapping;
    size_t mapped_bytes;
    LargeHeader* next; // in its class, newest first
    LargeHeader* previous;
    LargeHeader* newer; // over all classes, for giving back the oldest
    LargeHeader* older;
    int class_index;
    bool fresh; // never handed out since it was mapped
};
static_assert(sizeof(LargeHeader) == 64);

struct Central {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    FreeBlock* heads[small_classes] = {};
    char* slab = nullptr;
    char* slab_end = nullptr;
    LargeHeader* large[large_classes] = {};
    LargeHeader* newest = nullptr;
    LargeHeader* oldest = nullptr;
    ThreadCache* threads = nullptr;
    ThreadCache* spare_threads = nullptr;
    size_t cached = 0, limit = 0, most = 0, large_in_use = 0, large_peak = 0, slabs = 0, reserved = 0, mappings = 0;
    int64_t retired_allocated = 0; // the sum over threads that have ended
    unsigned colour = 0;
    pthread_key_t key{};
    bool ready = false;
};
constinit Central central;
constinit thread_local ThreadCache* thread_cache [[gnu::tls_model("initial-exec")]] = nullptr;

struct Lock {
    Lock() { pthread_mutex_lock(&central.lock); }
    ~Lock() { pthread_mutex_unlock(&central.lock); }
    Lock(const Lock&) = delete;
};

void* map_pages(size_t bytes) {
    if (central.most && (bytes > central.most || central.reserved > central.most - bytes)) return nullptr;
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
}

void retire_thread(void* argument) {
    auto* cache = static_cast<ThreadCache*>(argument);
    thread_cache = nullptr;
    Lock lock;
    for (int c = 0; c < small_classes; ++c) {
        while (FreeBlock* block = cache->heads[c]) {
            cache->heads[c] = block->next;
            block->next = central.heads[c];
            central.heads[c] = block;
        }
        cache->counts[c] = 0;
    }
    central.retired_allocated += cache->allocated;
    (cache->previous ? cache->previous->next : central.threads) = cache->next;
    if (cache->next) cache->next->previous = cache->previous;
    cache->next = central.spare_threads;
    central.spare_threads = cache;
}

// A number of bytes from the environment; `otherwise` where there is none.
size_t bytes_from(const char* variable, size_t otherwise) {
    const char* text = getenv(variable);
    char* end = nullptr;
    size_t given = text ? strtoull(text, &end, 10) : 0;
    return text && end != text && *end == 0 ? given : otherwise;
}

// Under the lock: what can't be had at load time.
void get_ready() {
    central.ready = true;
    pthread_key_create(&central.key, retire_thread);
    pthread_atfork([] { pthread_mutex_lock(&central.lock); }, [] { pthread_mutex_unlock(&central.lock); },
                   [] { pthread_mutex_unlock(&central.lock); });
    if (central.limit == 0) {
        size_t memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
        central.limit = std::max<size_t>(bytes_from("KINDLING_CACHE_LIMIT", memory / 4), 1);
    }
    if (central.most == 0) central.most = bytes_from("KINDLING_MEMORY_LIMIT", 0);
}

[[gnu::noinline]] ThreadCache* make_thread_cache() {
    Lock lock;
    if (!central.ready) get_ready();
    ThreadCache* cache = central.spare_threads;
    if (cache) {
        central.spare_threads = cache->next;
        memset(static_cast<void*>(cache), 0, sizeof *cache);
    } else {
        cache = static_cast<ThreadCache*>(calloc(1, sizeof(ThreadCache)));
        if (!cache) return nullptr;
    }
    cache->next = central.threads;
    if (cache->next) cache->next->previous = cache;
    central.threads = cache;
    pthread_setspecific(central.key, cache);
    thread_cache = cache;
    return cache;
}

void release_cached(size_t keep);

// Takes a batch of one class from the central lists or the slab; returns one block, the rest stay in the cache.
[[gnu::noinline]] void* refill(ThreadCache* cache, int c) {
    size_t bytes = class_bytes(c);
    int batch = bytes <= 1024 ? 16 : bytes <= 8192 ? 4 : 1;
    Lock lock;
    FreeBlock* first = nullptr;
    for (int i = 0; i < batch; ++i) {
        FreeBlock* block = central.heads[c];
        if (block) {
            central.heads[c] = block->next;
        } else {
            if (static_cast<size_t>(central.slab_end - central.slab) < bytes) {
                if (first) break;
                // What is left of the old slab becomes blocks of the classes that fit it.
                while (central.slab_end - central.slab >= 64) {
                    size_t left = central.slab_end - central.slab;
                    int fit = class_of(left);
                    if (class_bytes(fit) > left) --fit;
                    auto* rest = reinterpret_cast<FreeBlock*>(central.slab);
                    rest->next = central.heads[fit];
                    central.heads[fit] = rest;
                    central.slab += class_bytes(fit);
                }
                void* slab = map_pages(slab_bytes);
                if (!slab) {
                    release_cached(0);
                    slab = map_pages(slab_bytes);
                    if (!slab) out_of_memory(bytes);
                }
                central.slab = static_cast<char*>(slab);
                central.slab_end = central.slab + slab_bytes;
                central.slabs += slab_bytes;
                central.reserved += slab_bytes;
                ++central.mappings;
            }
            block = reinterpret_cast<FreeBlock*>(central.slab);
            central.slab += bytes;
        }
        if (!first) {
            first = block;
        } else {
            block->next = cache->heads[c];
            cache->heads[c] = block;
            ++cache->counts[c];
        }
    }
    cache->allocated += static_cast<int64_t>(bytes);
    return first;
}

[[gnu::noinline]] void spill(ThreadCache* cache, int c) {
    uint32_t keep = cache->counts[c] / 2;
    FreeBlock* last = cache->heads[c];
    for (uint32_t i = 1; i < keep; ++i) last = last->next;
    FreeBlock* block = last->next; // the colder half goes
    last->next = nullptr;
    cache->counts[c] = keep;
    Lock lock;
    while (block) {
        FreeBlock* next = block->next;
        block->next = central.heads[c];
        central.heads[c] = block;
        block = next;
    }
}

// ---- large blocks; all under the lock ----

void unlink_large(LargeHeader* header) {
    (header->previous ? header->previous->next : central.large[header->class_index]) = header->next;
    if (header->next) header->next->previous = header->previous;
    (header->newer ? header->newer->older : central.newest) = header->older;
    (header->older ? header->older->newer : central.oldest) = header->newer;
    central.cached -= header->mapped_bytes;
}

void unmap_large(LargeHeader* header) {
    size_t bytes = header->mapped_bytes;
    central.reserved -= bytes;
    munmap(header->mapping, bytes);
}

void release_cached(size_t keep) {
    while (central.oldest && central.cached > keep) {
        LargeHeader* header = central.oldest;
        unlink_large(header);
        unmap_large(header);
    }
}

LargeHeader* map_large(int c) {
    constexpr size_t page = 4096, huge = 2 << 20;
    size_t bytes = class_bytes(c + small_classes);
    // Blocks begin at different offsets within their page, so that streams over several blocks do not fall on the same cache sets. The
    // offsets are equal or at least 512 bytes apart because of 4K aliasing: where a result begins less than that above an operand (modulo
    // 4096), loads wait for stores to earlier elements. That cost a third more time on a Zen 4.
    size_t offset = sizeof(LargeHeader) + 512 * (central.colour++ * 3 % 7);
    size_t mapped = (bytes + offset + page - 1) & ~(page - 1);
    if (bytes >> 46) return nullptr;
    char* mapping = nullptr;
    if (bytes >= 4 * huge) { // aligned for huge pages: take more and cut
        size_t wanted = mapped + huge;
        mapping = static_cast<char*>(map_pages(wanted));
        if (mapping) {
            auto address = reinterpret_cast<uintptr_t>(mapping);
            size_t before = (huge - address % huge) % huge, after = huge - before;
            if (before) munmap(mapping, before);
            mapping += before;
            if (after) munmap(mapping + mapped, after);
            madvise(mapping, mapped, MADV_HUGEPAGE);
        }
    } else {
        mapping = static_cast<char*>(map_pages(mapped));
    }
    if (!mapping) return nullptr;
    auto* header = new (mapping + offset - sizeof(LargeHeader)) LargeHeader{};
    header->mapping = mapping;
    header->mapped_bytes = mapped;
    header->class_index = c;
    header->fresh = true;
    central.reserved += mapped;
    ++central.mappings;
    return header;
}

[[gnu::noinline]] LargeHeader* allocate_large(size_t bytes) {
    int c = class_of(bytes) - small_classes;
    if (c >= large_classes) out_of_memory(bytes);
    Lock lock;
    if (!central.ready) get_ready();
    LargeHeader* header = nullptr;
    for (int i = c; i < large_classes && i <= c + 2; ++i) { // at most half as much again
        if (central.large[i]) {
            header = central.large[i];
            unlink_large(header);
            break;
        }
    }
    if (!header) {
        header = map_large(c);
        if (!header) {
            release_cached(0);
            header = map_large(c);
            if (!header) out_of_memory(bytes);
        }
    }
    central.large_in_use += header->mapped_bytes;
    if (central.large_in_use > central.large_peak) central.large_peak = central.large_in_use;
    return header;
}

[[gnu::noinline]] void deallocate_large(void* block) {
    LargeHeader* header = static_cast<LargeHeader*>(block) - 1;
    Lock lock;
    central.large_in_use -= header->mapped_bytes;
    header->fresh = false;
    if (header->mapped_bytes > central.limit) {
        unmap_large(header);
        return;
    }
    int c = header->class_index;
    header->previous = nullptr;
    header->next = central.large[c];
    if (header->next) header->next->previous = header;
    central.large[c] = header;
    header->newer = nullptr;
    header->older = central.newest;
    (header->older ? header->older->newer : central.oldest) = header;
    central.newest = header;
    central.cached += header->mapped_bytes;
    if (central.cached > central.limit) release_cached(central.limit);
}

} // namespace

void* allocate(size_t bytes) {
    if (bytes == 0) [[unlikely]]
        return nullptr;
    if constexpr (bypass) {
        if (bytes >> 46) out_of_memory(bytes);
        void* block = aligned_alloc(64, (bytes + 63) & ~size_t{63});
        if (!block) out_of_memory(bytes);
        return block;
    }
    if (bytes > small_limit) [[unlikely]]
        return allocate_large(bytes) + 1;
    ThreadCache* cache = thread_cache;
    if (!cache) [[unlikely]] {
        cache = make_thread_cache();
        if (!cache) out_of_memory(bytes);
    }
    int c = class_of(bytes);
    FreeBlock* block = cache->heads[c];
    if (!block) [[unlikely]]
        return refill(cache, c);
    cache->heads[c] = block->next;
    --cache->counts[c];
    cache->allocated += static_cast<int64_t>(class_bytes(c));
    return block;
}

void* allocate_zeroed(size_t bytes) {
    if (!bypass && bytes > small_limit) {
        LargeHeader* header = allocate_large(bytes);
        if (!header->fresh) memset(header + 1, 0, bytes);
        return header + 1;
    }
    void* block = allocate(bytes);
    if (block) memset(block, 0, bytes);
    return block;
}

void deallocate(void* block, size_t bytes) noexcept {
    if (!block) return;
    if constexpr (bypass) {
        free(block);
        return;
    }
    if (bytes > small_limit) [[unlikely]]
        return deallocate_large(block);
    ThreadCache* cache = thread_cache;
    if (!cache) [[unlikely]] {
        cache = make_thread_cache();
        if (!cache) return; // a thread with no memory for its lists: the block is lost
    }
    int c = class_of(bytes);
    auto* entry = static_cast<FreeBlock*>(block);
    entry->next = cache->heads[c];
    cache->heads[c] = entry;
    size_t size = class_bytes(c);
    cache->allocated -= static_cast<int64_t>(size);
    if (++cache->counts[c] * size > thread_cache_bytes && cache->counts[c] >= 4) [[unlikely]]
        spill(cache, c);
}

AllocatorStats allocator_stats() {
    Lock lock;
    if (!central.ready) get_ready();
    int64_t small = central.retired_allocated;
    for (ThreadCache* cache = central.threads; cache; cache = cache->next) small += __atomic_load_n(&cache->allocated, __ATOMIC_RELAXED);
    AllocatorStats stats{};
    stats.allocated_bytes = central.large_in_use + static_cast<uint64_t>(small > 0 ? small : 0);
    stats.peak_bytes = central.large_peak + central.slabs;
    stats.reserved_bytes = central.reserved;
    stats.cached_bytes = central.cached;
    stats.cache_limit = central.limit;
    stats.memory_limit = central.most;
    stats.system_allocations = central.mappings;
    return stats;
}

void empty_cache() noexcept {
    Lock lock;
    release_cached(0);
}

void set_memory_limit(size_t bytes) noexcept {
    Lock lock;
    if (!central.ready) get_ready();
    central.most = bytes;
}

void reset_peak_stats() noexcept {
    Lock lock;
    central.large_peak = central.large_in_use;
}

void set_cache_limit(size_t bytes) noexcept {
    Lock lock;
    if (!central.ready) get_ready();
    central.limit = bytes ? bytes : 1;
    if (central.cached > central.limit) release_cached(central.limit);
}

} // namespace kindling
