// The allocator: alignment, reuse, classes that never overlap, limits, threads, fork and impossible sizes.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "core/error.h"
#include "runtime/allocator.h"

using namespace kindling;

static void sizes_and_alignment() {
    std::vector<std::pair<unsigned char*, size_t>> blocks;
    for (size_t size = 1; size < (size_t{40} << 20); size += 1 + size / 3) {
        auto* block = static_cast<unsigned char*>(allocate(size));
        CHECK(reinterpret_cast<uintptr_t>(block) % 64 == 0);
        memset(block, static_cast<int>(size % 251), size);
        blocks.emplace_back(block, size);
    }
    for (auto [block, size] : blocks) {
        bool intact = true;
        for (size_t i = 0; i < size; ++i) intact &= block[i] == size % 251;
        CHECK(intact);
        deallocate(block, size);
    }
    CHECK(allocate(0) == nullptr);
    deallocate(nullptr, 0);
}

static void reuse() {
#if !defined(__SANITIZE_ADDRESS__)
    for (size_t size : {size_t{64}, size_t{1000}, size_t{70000}, size_t{3} << 20}) {
        empty_cache(); // a larger block left by others may serve once, but is not of this class
        void* first = allocate(size);
        void* second = allocate(size);
        deallocate(first, size);
        deallocate(second, size);
        CHECK(allocate(size) == second); // newest first
        CHECK(allocate(size) == first);
        deallocate(first, size);
        deallocate(second, size);
    }
    void* large = allocate(10 << 20);
    CHECK(allocator_stats().allocated_bytes >= (10u << 20));
    deallocate(large, 10 << 20);
    CHECK(allocator_stats().cached_bytes >= (10u << 20));
    empty_cache();
    CHECK(allocator_stats().cached_bytes == 0);
    set_cache_limit(4 << 20);
    for (int i = 0; i < 8; ++i) deallocate(allocate(1 << 20), 1 << 20);
    void* kept[8];
    for (void*& block : kept) block = allocate(1 << 20);
    for (void* block : kept) deallocate(block, 1 << 20);
    CHECK(allocator_stats().cached_bytes <= (4u << 20));
#endif
}

static void zeroed() {
    for (size_t size : {size_t{100}, size_t{5} << 20}) {
        for (int round = 0; round < 3; ++round) {
            auto* block = static_cast<unsigned char*>(allocate_zeroed(size));
            bool clear = true;
            for (size_t i = 0; i < size; ++i) clear &= block[i] == 0;
            CHECK(clear);
            memset(block, 0xff, size);
            deallocate(block, size);
        }
    }
}

static void impossible() {
    CHECK_THROWS(allocate(size_t{1} << 60), "DefaultCPUAllocator: can't allocate memory: you tried to allocate 1152921504606846976 bytes");
    CHECK_THROWS(allocate(~size_t{0}), "can't allocate memory");
    void* after = allocate(100);
    CHECK(after);
    deallocate(after, 100);
}

struct Passed {
    void* blocks[1000];
};
static void* produce(void* argument) {
    auto* passed = static_cast<Passed*>(argument);
    for (int round = 0; round < 20; ++round)
        for (int i = 0; i < 1000; ++i) deallocate(allocate(64 + i * 17), 64 + i * 17);
    for (int i = 0; i < 1000; ++i) {
        passed->blocks[i] = allocate(64 + i * 17);
        memset(passed->blocks[i], i % 256, 64 + i * 17);
    }
    return nullptr;
}

static void threads() {
    pthread_t thread[4];
    static Passed passed[4];
    int64_t before = static_cast<int64_t>(allocator_stats().allocated_bytes);
    for (int t = 0; t < 4; ++t) pthread_create(&thread[t], nullptr, produce, &passed[t]);
    for (pthread_t& t : thread) pthread_join(t, nullptr);
    for (auto& p : passed)
        for (int i = 0; i < 1000; ++i) {
            auto* block = static_cast<unsigned char*>(p.blocks[i]);
            CHECK(block[0] == i % 256 && block[63 + i * 17] == i % 256);
            deallocate(block, 64 + i * 17);
        }
    CHECK(static_cast<int64_t>(allocator_stats().allocated_bytes) == before);
}

static void forks() {
    void* mine = allocate(1000);
    pid_t child = fork();
    if (child == 0) {
        bool good = true;
        for (int i = 0; i < 1000; ++i) {
            void* block = allocate(static_cast<size_t>(i) * 999 + 1);
            good &= block != nullptr;
            deallocate(block, static_cast<size_t>(i) * 999 + 1);
        }
        deallocate(mine, 1000);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    deallocate(mine, 1000);
}

int main() {
    sizes_and_alignment();
    reuse();
    zeroed();
    impossible();
    threads();
    forks();
    return finish("allocator");
}
