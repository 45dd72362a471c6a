// kernels/native/memory.cpp: pages are written first and become executable afterwards (W^X).
// Compiled for calls.
#include "kernels/native/memory.h"

#include <sys/mman.h>

#include <cstring>

namespace kindling::native {

void* make_executable(const void* bytes, size_t size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    std::memcpy(memory, bytes, size);
    if (mprotect(memory, size, PROT_READ | PROT_EXEC) == 0) return memory;
    munmap(memory, size);
    return nullptr;
}

void free_executable(void* memory, size_t size) { munmap(memory, size); }

} // namespace kindling::native
