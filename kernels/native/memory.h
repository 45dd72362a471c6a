// kernels/native/memory.h: memory that code runs in. It is never writable and executable at once.
#pragma once
#include <cstddef>

namespace kindling::native {

/// A copy of the bytes where they can run; null if the system does not allow it.
void* make_executable(const void* bytes, size_t size);
void free_executable(void* memory, size_t size);

}  // namespace kindling::native
