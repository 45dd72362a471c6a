// operators/tensors/places.cpp: places that tensors of whole numbers name.
// Compiled for size.
#include "operators/tensors/places.h"

#include "core/shape.h"
#include "generated/functions.h"
#include "kernels/library/indexing/indexing.h"

namespace kindling {

std::optional<int64_t> place_outside(const Tensor& index, int64_t size, bool from_end) {
    const Tensor places = contiguous(to(index, DType::Int64));
    const auto *next = places.data_ptr<int64_t>(), *end = next + places.numel();
    while ((next = library::find_outside(next, end - next, size))) {
        if (!from_end || *next < -size || *next >= size) return *next;
        next++;
    }
    return std::nullopt;
}

int64_t size_along(IntList sizes, int64_t dim) {
    const auto dims = static_cast<int64_t>(sizes.size());
    return dims ? sizes[static_cast<size_t>(wrap_dim(dim, dims))] : 1;
}

} // namespace kindling
