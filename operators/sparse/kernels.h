// operators/sparse/kernels.h: what operators do with sparse tensors.
//
// An operator that is about sparse tensors is declared with takes_sparse() and sees them like any other. All others are served
// by kernels entered here, by the operator's name, when the first sparse tensor meets one:
//
//     sparse("mul.Tensor", [](const Tensor& self, const Tensor& other) { ... });       // any layout
//     sparse.coo("cat", [](TensorList tensors, int64_t dim) { ... });                  // torch.sparse_coo only
//     sparse.parts("sum", [](const Tensor& self, DType dtype) { ... });                // autograd sees what it is made of
//
// In-place and out= forms follow from the functional one, unless one is entered by its own name. A scalar body of one tensor
// that gives 0 for 0 needs no entry: it works on the values.
#pragma once
#include "core/sparse.h"
#include "operators/declare.h"

namespace kindling {

class SparseKernels {
public:
    enum : uint8_t { Coo = 1, Compressed = 2, Both = 3 };
    struct Entry {
        const char* name;
        Kernel kernel;
        uint8_t layouts;
        bool parts;
    };

    template <class F> void operator()(const char* name, F) { entries.push_back({name, &boxed::fresh_kernel<F>, Both, false}); }
    template <class F> void coo(const char* name, F) { entries.push_back({name, &boxed::fresh_kernel<F>, Coo, false}); }
    template <class F> void compressed(const char* name, F) { entries.push_back({name, &boxed::fresh_kernel<F>, Compressed, false}); }
    template <class F> void parts(const char* name, F) { entries.push_back({name, &boxed::kernel<F>, Both, true}); }

    std::vector<Entry> entries;
};

/// An ordinary function where a lambda is expected: sparse.coo("cat", Function<joined>()).
template <auto f> struct Function;
template <class R, class... A, R (*f)(A...)> struct Function<f> {
    R operator()(A... arguments) const { return f(arguments...); }
};

// The subjects, a file each.
void sparse_structure(SparseKernels& sparse);  // factories, copies, views, joins
void sparse_arithmetic(SparseKernels& sparse); // sums, products and quotients by element
void sparse_products(SparseKernels& sparse);   // matrix products
void sparse_reductions(SparseKernels& sparse);

/// The same elements with other values (of any dtype), in the same order.
Tensor with_values(const Tensor& like, const Tensor& values);
/// What an in-place form computed, into self. Compressed tensors with the same places take the values into their memory.
void put_parts(const Tensor& self, const Tensor& result);
/// COO of these parts.
Tensor make_coo(IntList sizes, const Tensor& indices, const Tensor& values, bool coalesced = false);
/// Sorted, each place once: the tensor itself if it is so already.
Tensor coalesced(const Tensor& coo);
/// Which number in row-major order each column of `indices` is.
Tensor flat_indices(const Tensor& indices, IntList sizes);
/// The elements of `source`, strided or COO, that lie at `indices`; 0 where COO has none.
Tensor values_at(const Tensor& source, const Tensor& indices);
/// The same, arranged as the values of `pattern`, of any sparse layout.
Tensor values_like(const Tensor& source, const Tensor& pattern);
Tensor as_coo(const Tensor& tensor, int64_t sparse_dims = -1);
Tensor as_dense(const Tensor& tensor);
/// Places of a sparse tensor for a mask: outside the graph, each once.
Tensor pattern_of(const Tensor& self);
/// Any layout from any other.
void check_conversion(const Tensor& tensor, Layout layout, const std::optional<IntList>& blocksize, const std::optional<int64_t>& dense_dim,
                      const char* named = "");
Tensor as_layout(const Tensor& tensor, Layout layout, IntList blocksize = {}, std::optional<int64_t> dense_dim = std::nullopt);
/// Which row (CSC: column) each element of a compressed tensor lies in: [batch..., elements].
Tensor row_indices_of(const Tensor& compressed, int64_t count);
/// Where rows start, from the sorted row of each element.
Tensor compressed_of(const Tensor& rows, int64_t row_count);
IntList block_of(const Tensor& blocked);
/// The wrong kind of tensor: RuntimeError "values expected sparse tensor layout but got Strided".
void need_coo(const Tensor& tensor, const char* name);
/// NotImplementedError for a strided tensor, of what only sparse tensors have a kernel for.
void need_sparse(const Tensor& tensor, const char* name);
/// The same as NotImplementedError, for what PyTorch has kernels for COO only.
void need_kernel(const Tensor& tensor, const char* name);
[[noreturn]] void refuse_layout(const Operator& op, const Value* arguments, bool compressed);

} // namespace kindling
