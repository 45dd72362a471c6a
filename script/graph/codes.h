// script/graph/codes.h: dtypes, layouts and memory formats are numbers in scripts, those of PyTorch's own enumerations
// (c10/core/ScalarType.h, Layout.h, MemoryFormat.h): graphs, saved programs and `x.dtype` hold them.
#pragma once
#include "core/dtype.h"
#include "core/error.h"
#include "core/tensor_impl.h"

namespace kindling::script {

namespace codes {
inline constexpr int8_t dtypes[dtype_count] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, 27, 28, 29, 24, 23, 26, 25, 44};
inline constexpr int8_t layouts[] = {0, 1, 2, 4, 5, 6, 7, 3};
} // namespace codes

inline int64_t code_of(DType dtype) { return codes::dtypes[static_cast<int>(dtype)]; }
inline DType dtype_of_code(int64_t code) {
    for (int i = 0; i < dtype_count; i++)
        if (codes::dtypes[i] == code) return static_cast<DType>(i);
    fail(ErrorKind::Runtime, "%ld is the number of no dtype that is supported", static_cast<long>(code));
}
inline int64_t code_of(Layout layout) { return codes::layouts[static_cast<int>(layout)]; }
inline Layout layout_of_code(int64_t code) {
    for (int i = 0; i < 8; i++)
        if (codes::layouts[i] == code) return static_cast<Layout>(i);
    fail(ErrorKind::Runtime, "%ld is the number of no layout", static_cast<long>(code));
}
inline MemoryFormat memory_format_of_code(int64_t code) {
    KINDLING_CHECK(Runtime, code >= 0 && code <= 3, "%ld is the number of no memory format", static_cast<long>(code));
    return static_cast<MemoryFormat>(code);
}

} // namespace kindling::script
