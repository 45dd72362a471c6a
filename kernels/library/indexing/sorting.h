// kernels/library/indexing/sorting.h: sorting and selecting along a dimension, and what follows from a sorted order.
//
// Arrays are contiguous with shape [outer, n, inner]; work is along n. Any real dtype. nan counts as greater than
// everything, 0 and -0 as equal. Where torch's choice among equal elements follows from its algorithm (topk, kthvalue,
// median, mode), these choose the same one.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

struct Rows {
    DType dtype;
    int64_t outer, n, inner;
};

/// Stable. `values` and `indices` have the input's shape; either may be null. `values` is not the input.
void sort(const Rows& rows, const void* input, void* values, int64_t* indices, bool descending);
/// `values` and `indices` are [outer, k, inner].
void topk(const Rows& rows, const void* input, int64_t k, bool largest, bool sorted, void* values, int64_t* indices);
/// The k-th smallest, k from 1; results are [outer, inner].
void kthvalue(const Rows& rows, const void* input, int64_t k, void* values, int64_t* indices);
/// The lower median; nan if there is one, or with `ignore_nan` the median of the others. Results [outer, inner].
void median(const Rows& rows, const void* input, bool ignore_nan, void* values, int64_t* indices);
/// The most frequent value, the smallest of them. Results [outer, inner].
void mode(const Rows& rows, const void* input, void* values, int64_t* indices);

/// The distinct values of `count` elements in order; returns how many. `values` has room for `count`. `inverse` (for
/// each element the position of its value) and `counts` may be null. Each nan is distinct.
int64_t unique_sorted(DType dtype, int64_t count, const void* input, void* values, int64_t* inverse, int64_t* counts);
/// The same for runs of equal neighbours, in the order they come.
int64_t unique_consecutive(DType dtype, int64_t count, const void* input, void* values, int64_t* inverse, int64_t* counts);
/// Distinct rows of [count, width] in lexicographic order. Fills `first` (room for `count`) with the position of a row
/// of each kind, `inverse` and `counts` as above; returns how many kinds. With `consecutive` only neighbours are
/// merged.
int64_t unique_rows(DType dtype, int64_t count, int64_t width, const void* input, bool consecutive, int64_t* first, int64_t* inverse,
                    int64_t* counts);

/// For each of the values [rows, per_row], how many of the ascending `boundaries` are before it (at or before it with
/// `right`). Boundaries are [rows, width], or [width] for all with `shared`. `sorter` (like boundaries) may be null.
void search_sorted(DType dtype, int64_t rows, int64_t width, bool shared, const void* boundaries, const int64_t* sorter, int64_t per_row,
                   const void* values, bool right, int64_t* out);

} // namespace kindling::library
