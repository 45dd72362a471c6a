// kernels/native/memory.h: executable memory. It is never writable and executable at once.
#pragma once
#include <cstddef>

namespace kindling::native {

/// Copies the bytes into executable memory; null if the system does not allow that.
void* make_executable(const void* bytes, size_t size);
void free_executable(void* memory, size_t size);

} // namespace kindling::native
