// operators/tensors/views.cpp: everything that looks at the same memory in another shape.
#include "generated/functions.h"
#include "operators/batching.h"
#include "operators/declare.h"
#include "operators/parts.h"

namespace kindling {
namespace {

Tensor with_dims(const Tensor& self, const Sizes& order) {
    Sizes sizes, strides;
    for (int64_t dim : order) {
        sizes.push_back(self.sizes()[static_cast<size_t>(dim)]);
        strides.push_back(self.strides()[static_cast<size_t>(dim)]);
    }
    return make_view(self, sizes, strides, self.storage_offset());
}

Sizes permutation(const Tensor& self, IntList dims, const char* name) {
    KINDLING_CHECK(Runtime, static_cast<int64_t>(dims.size()) == self.dim(),
                   "%s(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering "
                   "of dimensions i.e. input.dim() = %ld is not equal to len(dims) = %zu",
                   name, self.dim(), dims.size());
    Sizes order;
    uint64_t seen = 0;
    for (int64_t dim : dims) {
        int64_t d = wrap_dim(dim, self.dim());
        KINDLING_CHECK(Runtime, !(seen >> d & 1), "%s(): duplicate dims are not allowed.", name);
        seen |= uint64_t{1} << d;
        order.push_back(d);
    }
    return order;
}

Sizes inverse(const Sizes& order) {
    Sizes back(order.size());
    for (size_t i = 0; i < order.size(); i++) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return back;
}

Tensor swapped(const Tensor& self, int64_t a, int64_t b) {
    Sizes order;
    for (int64_t i = 0; i < self.dim(); i++) order.push_back(i);
    if (self.dim()) std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
    return with_dims(self, order);
}

Sizes moved(int64_t ndim, IntList source, IntList destination) {
    KINDLING_CHECK(Runtime, source.size() == destination.size(),
                   "movedim: Invalid source or destination dims: source (%s dims) should contain the same number of dims as "
                   "destination (%s dims)",
                   str(source).c_str(), str(destination).c_str());
    Sizes order(static_cast<size_t>(ndim), -1);
    uint64_t taken = 0, placed = 0;
    for (size_t i = 0; i < source.size(); i++) {
        int64_t from = wrap_dim(source[i], ndim), to = wrap_dim(destination[i], ndim);
        KINDLING_CHECK(Runtime, !(taken >> from & 1), "movedim: repeated dim in `source` (%s)", str(source).c_str());
        KINDLING_CHECK(Runtime, !(placed >> to & 1), "movedim: repeated dim in `destination` (%s)", str(destination).c_str());
        taken |= uint64_t{1} << from;
        placed |= uint64_t{1} << to;
        order[static_cast<size_t>(to)] = from;
    }
    int64_t next = 0;
    for (auto& slot : order) {
        if (slot >= 0) continue;
        while (taken >> next & 1) next++;
        slot = next++;
    }
    return order;
}

Tensor viewed(const Tensor& self, IntList size) {
    Sizes target = infer_size(size, self.numel()), strides;
    KINDLING_CHECK(Runtime, view_strides(self.sizes(), self.strides(), target, strides),
                   "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                   "contiguous subspaces). Use .reshape(...) instead.");
    return make_view(self, target, strides, self.storage_offset());
}

Tensor selected(const Tensor& self, int64_t dim, int64_t index) { return Part(self).select(dim, index).of(self); }
Tensor sliced(const Tensor& self, int64_t dim, int64_t start, int64_t end, int64_t step) {
    return Part(self).slice(dim, start, end, step).of(self);
}

/// What the rule of a view's gradient says: zeros, but for `part`, where the view's gradient lies.
Part gives_gradient(KernelCall& call, const Tensor& grad, IntList sizes, Part part) {
    check_copied(grad.sizes(), part);
    call.reads_as_it_lies(grad);
    call.gives(sizes, grad.dtype()).zeroed();
    return part;
}
constexpr auto laid_there = [](const Part& part, const Array& grad, const Array& result) { copy_part(result, part, grad, Part(grad)); };

void check_narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
    KINDLING_CHECK(Runtime, self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
    KINDLING_CHECK(Runtime, length >= 0, "narrow(): length must be non-negative.");
    int64_t size = self.size(dim);
    KINDLING_CHECK(Index, start >= -size && start <= size, "start out of range (expected to be in range of [%ld, %ld], but got %ld)", -size,
                   size, start);
    if (start < 0) start += size;
    KINDLING_CHECK(Runtime, start <= size - length, "start (%ld) + length (%ld) exceeds dimension size (%ld).", start, length, size);
}

Sizes with_reals(IntList list, int64_t last, int64_t factor) {
    Sizes result;
    for (int64_t value : list) result.push_back(value * factor);
    result.push_back(last);
    return result;
}

/// Whether sizes, strides and offset that a caller gives stay in the memory there is.
void check_strided(const Tensor& self, IntList size, IntList stride, int64_t offset) {
    KINDLING_CHECK(Runtime, size.size() == stride.size(), "mismatch in length of strides and shape");
    for (int64_t step : stride)
        KINDLING_CHECK(Runtime, step >= 0, "as_strided: Negative strides are not supported at the moment, got strides: %s",
                       str(stride).c_str());
    KINDLING_CHECK(Runtime, offset >= 0, "Tensor: invalid storage offset %ld", offset);
    checked_numel(size);
    size_t bytes = checked_bytes(size, stride, offset, self.element_size());
    KINDLING_CHECK(Runtime, bytes <= self.storage()->bytes,
                   "setStorage: sizes %s, strides %s, storage offset %ld, and "
                   "itemsize %zu requiring a storage size of %zu are out of bounds for storage of size %zu",
                   str(size).c_str(), str(stride).c_str(), offset, self.element_size(), bytes, self.storage()->bytes);
}

/// The whole memory a strided view may touch, as a flat tensor of gradients: as_strided's derivative.
Tensor as_strided_gradient(const Tensor& grad, const Tensor& self, IntList size, IntList stride, int64_t offset) {
    // Overlapping inputs or outputs: add up per memory cell, as torch does.
    int64_t low = std::min(self.storage_offset(), offset);
    int64_t reach = std::max<int64_t>(self.numel() ? 1 : 0, 1), out_reach = 1;
    for (size_t i = 0; i < self.sizes().size(); i++)
        if (self.numel()) reach += (self.sizes()[i] - 1) * self.strides()[i];
    int64_t count = 1;
    for (size_t i = 0; i < size.size(); i++) {
        count *= size[i];
        out_reach += (size[i] - 1) * stride[i];
    }
    if (count == 0) return zeros(self.sizes(), grad.dtype());
    int64_t cells = std::max(self.storage_offset() + reach, offset + out_reach) - low;
    Tensor storage = zeros({cells}, grad.dtype());
    Tensor numbers = arange(Scalar(cells), DType::Int64);
    Tensor places = as_strided(numbers, size, stride, offset - low).reshape({-1});
    storage = index_add(storage, 0, places, grad.reshape({-1}));
    if (!self.impl()->non_overlapping_dense) { // an input cell seen more than once shares its gradient
        Tensor own = as_strided(numbers, self.sizes(), self.strides(), self.storage_offset() - low).reshape({-1});
        Tensor times = index_add(zeros({cells}, DType::Int64), 0, own, ones({own.numel()}, DType::Int64));
        storage = div(storage, times.clamp_min(Scalar(1)));
    }
    return as_strided(storage, self.sizes(), self.strides(), self.storage_offset() - low);
}

/// The last place that sizes and strides reach; -1: they reach none.
int64_t last_place(IntList size, IntList stride, int64_t start) {
    for (size_t d = 0; d < size.size(); d++) {
        if (size[d] == 0) return -1;
        start += (size[d] - 1) * stride[d];
    }
    return start;
}

/// as_strided of a slice: it sees no further than the slice itself, behind which others lie.
void check_within_slice(const Tensor& self, IntList size, IntList stride, int64_t start) {
    KINDLING_CHECK(Runtime, size.size() == stride.size(),
                   "Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got size %s and stride %s",
                   str(size).c_str(), str(stride).c_str());
    const int64_t wanted = last_place(size, stride, start), first = self.storage_offset(),
                  last = last_place(self.sizes(), self.strides(), first);
    if (wanted < 0) return;
    const std::string call = format("result = tensor.as_strided(%s, %s, %lld) can access memory outside of `tensor`. ", str(size).c_str(),
                                    str(stride).c_str(), static_cast<long long>(start));
    constexpr const char* instead =
        "This is not supported inside of vmap, please try to rewrite the `as_strided` call as a sequence of PyTorch view operations";
    KINDLING_CHECK(Runtime, last >= 0,
                   "%s`tensor` has no storage but the passed-in (size, stride, storage_offset) imply a result with some storage. %s",
                   call.c_str(), instead);
    KINDLING_CHECK(
        Runtime, wanted <= last && first <= start,
        "%s`result` can access some memory in range [%lld, %lld], but `tensor` can only access some memory in range [%lld, %lld]. %s",
        call.c_str(), static_cast<long long>(start), static_cast<long long>(wanted), static_cast<long long>(first),
        static_cast<long long>(last), instead);
}

} // namespace
} // namespace kindling

OPERATORS(views) {
    declare("alias(Tensor(a) self) -> Tensor(a)")({
        doc("The same memory under a new header"),
        takes_float8(),
        in(space::Hidden),
        view([](const Tensor& self) { return make_view(self, self.sizes(), self.strides(), self.storage_offset()); }),
        derivative(
            "self", GIVEN(Tensor grad) { return grad; }),
    });
    declare("view(Tensor(a) self, SymInt[] size) -> Tensor(a)")({
        doc("The same elements in another shape; one size may be -1"),
        in(space::Method),
        batches([](const Tensor& self, IntList size) {
            Mapped m({self});
            if (m.has(self)) { // what -1 stands for is known of a slice
                const Tensor slice = viewed(self, size);
                return m.ties(self, [&] { return view(m.bare(self), m.sizes_with(slice.sizes())); });
            }
            return m.ties(self, [&] { return view(m.bare(self), size); });
        }),
        view([](const Tensor& self, IntList size) { return viewed(self, size); }),
        derivative(
            "self", GIVEN(Tensor grad, SizeList self_sizes) { return grad.reshape(self_sizes); }),
        example("torch.arange(6).view(2, -1)"),
        refuses("torch.arange(6).view(4, 2)", "RuntimeError: shape '\\[4, 2\\]' is invalid for input of size 6"),
    });
    declare("_unsafe_view(Tensor self, SymInt[] size) -> Tensor")({
        doc("view of a tensor that nobody else will see: no view to autograd"),
        linear(),
        takes_float8(),
        keeps_conj(),
        in(space::Torch),
        by_loops(),
        header([](const Tensor& self, IntList size) { return viewed(self, size); }),
        derivative(
            "self", GIVEN(Tensor grad, SizeList self_sizes) { return grad.reshape(self_sizes); }),
    });
    declare("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)")({
        doc("The same bytes read as another dtype"),
        takes_float8(),
        in(space::Method),
        not_differentiable(),
        view([](const Tensor& self, DType dtype) {
            Sizes sizes = self.sizes(), strides = self.strides();
            int64_t from = static_cast<int64_t>(self.element_size()), to = static_cast<int64_t>(item_size(dtype)),
                    offset = self.storage_offset();
            KINDLING_CHECK(Runtime, !self.is_conj() && !self.is_neg(),
                           "torch.Tensor.view is not supported for %s when converting to a different dtype.",
                           self.is_conj() ? "conjugate view tensors" : "tensors with negative bit set");
            if (from > to) {
                int64_t ratio = from / to;
                KINDLING_CHECK(Runtime, self.dim() > 0, "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                               scalar_type_name(self.dtype()), scalar_type_name(dtype));
                KINDLING_CHECK(Runtime, strides.back() == 1,
                               "self.stride(-1) must be 1 to view %s as %s (different element sizes), but got %ld",
                               scalar_type_name(self.dtype()), scalar_type_name(dtype), strides.back());
                for (size_t i = 0; i + 1 < strides.size(); i++) strides[i] *= ratio;
                sizes.back() *= ratio;
                offset *= ratio;
            } else if (from < to) {
                int64_t ratio = to / from;
                KINDLING_CHECK(Runtime, self.dim() > 0, "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                               scalar_type_name(self.dtype()), scalar_type_name(dtype));
                KINDLING_CHECK(Runtime, sizes.back() % ratio == 0,
                               "self.size(-1) must be divisible by %ld to view %s as %s (different element sizes), but got %ld", ratio,
                               scalar_type_name(self.dtype()), scalar_type_name(dtype), sizes.back());
                KINDLING_CHECK(Runtime, offset % ratio == 0,
                               "self.storage_offset() must be divisible by %ld to view %s as %s (different element sizes), but got %ld",
                               ratio, scalar_type_name(self.dtype()), scalar_type_name(dtype), offset);
                KINDLING_CHECK(Runtime, strides.back() == 1,
                               "self.stride(-1) must be 1 to view %s as %s (different element sizes), but got %ld",
                               scalar_type_name(self.dtype()), scalar_type_name(dtype), strides.back());
                for (size_t i = 0; i + 1 < strides.size(); i++) {
                    KINDLING_CHECK(Runtime, strides[i] % ratio == 0,
                                   "self.stride(%zu) must be divisible by %ld to view %s as %s (different element sizes), but got %ld", i,
                                   ratio, scalar_type_name(self.dtype()), scalar_type_name(dtype), strides[i]);
                    strides[i] /= ratio;
                }
                sizes.back() /= ratio;
                offset /= ratio;
            }
            return untied(make_view(self, sizes, strides, offset, dtype)); // no view to autograd
        }),
    });
    declare("_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)")({
        doc("view with the strides worked out already"),
        in(space::Hidden),
        view([](const Tensor& self, IntList size, IntList stride) {
            check_strided(self, size, stride, self.storage_offset());
            return make_view(self, size, stride, self.storage_offset());
        }),
        derivative(
            "self", GIVEN(Tensor grad, SizeList self_sizes) { return grad.reshape(self_sizes); }),
    });
    declare("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)")({
        doc("The same elements in another shape: a view where strides allow it, else a copy"),
        no_out(),
        composition([](const Tensor& self, SizeList shape) {
            Sizes target = infer_size(shape.hints(), self.numel()), strides;
            // What is recorded works a -1 out anew.
            const SizeList given = thread_state.sizes ? shape : SizeList(target);
            if (view_strides(self.sizes(), self.strides(), target, strides)) return view(self, given);
            return _unsafe_view(clone(self, MemoryFormat::Contiguous), given);
        }),
        example("torch.arange(6).reshape(3, 2).t().reshape(6)"),
        refuses("torch.arange(6).reshape(4)", "RuntimeError: shape '\\[4\\]' is invalid"),
    });
    declare("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)")({
        doc("reshape to the other's shape"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, const Tensor& other) { return reshape(self, sizes_of(other)); }),
    });
    declare("view_as(Tensor(a) self, Tensor other) -> Tensor(a)")({
        doc("view in the other's shape"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, const Tensor& other) { return view(self, sizes_of(other)); }),
    });
    declare("sym_size.int(Tensor self, int dim) -> SymInt")({
        doc("The size of a dimension, as a value of a graph"),
        not_differentiable(),
        in(space::Ops),
        by_loops(),
        header([](const Tensor& self, int64_t dim) { return self.size(dim); }),
    });
    declare("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")({
        doc("Dimensions start_dim to end_dim as one"),
        no_out(),
        composition([](const Tensor& self, int64_t start_dim, int64_t end_dim) {
            int64_t start = wrap_dim(start_dim, self.dim()), end = wrap_dim(end_dim, self.dim());
            KINDLING_CHECK(Runtime, start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
            if (self.dim() == 0) return reshape(self, {1});
            if (start == end) return self;
            SizeVector sizes;
            Size count = 1;
            for (int64_t i = 0; i < self.dim(); i++) {
                const Size size = size_of(self, i), all = i < start || i > end ? size : count = count * size;
                if (i < start || i >= end) sizes.push_back(all);
            }
            return reshape(self, sizes);
        }),
    });
    declare("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)")({
        doc("One dimension as several"),
        no_out(),
        composition([](const Tensor& self, int64_t dim, SizeList sizes) {
            KINDLING_CHECK(Runtime, !sizes.empty(), "unflatten: sizes must be non-empty");
            int64_t d = wrap_dim(dim, self.dim());
            Sizes inner;
            try {
                inner = infer_size(sizes.hints(), self.size(d));
            } catch (const Error&) {
                fail(ErrorKind::Runtime, "unflatten: Provided sizes %s don't multiply up to the size of dim %ld (%ld) in the input tensor",
                     str(sizes.hints()).c_str(), d, self.size(d));
            }
            SizeVector target;
            for (int64_t i = 0; i < self.dim(); i++) {
                if (i != d) target.push_back(size_of(self, i));
                for (size_t j = 0; i == d && j < sizes.size(); j++) {
                    Size each = sizes[j];
                    if (each.hint() == -1) { // whatever the others leave
                        each = inner[j];
                        if (thread_state.sizes && each.hint()) {
                            each = size_of(self, d);
                            for (size_t other = 0; other < sizes.size(); other++)
                                if (other != j) each = each / sizes[other];
                        }
                    }
                    target.push_back(each);
                }
            }
            return view(self, target);
        }),
    });
    declare("ravel(Tensor(a) self) -> Tensor(a)")({
        doc("All elements in one dimension"),
        no_out(),
        composition([](const Tensor& self) { return reshape(contiguous(self), {-1}); }),
    });
    declare("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)")({
        doc("Dimensions of size 1 repeated without copying; -1 keeps a size"),
        copied(),
        in(space::Method),
        batches([](const Tensor& self, IntList size, bool) {
            Mapped m({self});
            return m.ties(self, [&] {
                Tensor inner = m.bare(self);
                if (!m.has(self)) return expand(inner, size);
                for (size_t d = static_cast<size_t>(self.dim()); d < size.size(); d++) inner = unsqueeze(inner, 1);
                return expand(inner, m.sizes_with(size, -1));
            });
        }),
        view([](const Tensor& self, IntList size, bool) {
            KINDLING_CHECK(Runtime, static_cast<int64_t>(size.size()) >= self.dim(),
                           "expand(%s, size=%s): the number of sizes provided (%zu) must be greater or equal to the number of "
                           "dimensions in the tensor (%ld)",
                           str(self).c_str(), str(size).c_str(), size.size(), self.dim());
            Sizes target = size;
            size_t lead = size.size() - self.sizes().size();
            for (size_t i = 0; i < target.size(); i++)
                if (target[i] == -1) {
                    KINDLING_CHECK(Runtime, i >= lead,
                                   "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension %zu", i);
                    target[i] = self.sizes()[i - lead];
                } else KINDLING_CHECK(Runtime, target[i] >= 0, "expand: negative size %ld is not allowed", target[i]);
            return make_view(self, target, expanded_strides(self.sizes(), self.strides(), target), self.storage_offset());
        }),
        derivative(
            "self", GIVEN(Tensor grad) { return grad; }),
        refuses("torch.ones(2, 3).expand(4, 3)", "RuntimeError: The expanded size of the tensor \\(4\\) must match"),
    });
    declare("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)")({
        doc("expand to the other's shape"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, const Tensor& other) { return expand(self, sizes_of(other)); }),
    });
    declare("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")({
        doc("expand"),
        no_out(),
        composition([](const Tensor& self, SizeList size) { return expand(self, size); }),
    });
    declare("permute(Tensor(a) self, int[] dims) -> Tensor(a)")({
        doc("Dimensions in another order"),
        copied(),
        batches([](const Tensor& self, IntList dims) {
            Mapped m({self});
            Sizes moved;
            if (m.has(self)) moved.push_back(0);
            for (int64_t d : dims) moved.push_back(wrap_dim(d, self.dim()) + (m.has(self) ? 1 : 0));
            return m.ties(self, [&] { return permute(m.bare(self), moved); });
        }),
        view([](const Tensor& self, IntList dims) { return with_dims(self, permutation(self, dims, "permute")); }),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList dims) {
                Sizes order;
                for (int64_t dim : dims) order.push_back(wrap_dim(dim, grad.dim()));
                return permute(grad, inverse(order));
            }),
    });
    declare("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")({
        doc("Two dimensions swapped"),
        copied(),
        inplace_is_method(),
        alias("swapaxes"),
        alias("swapdims"),
        has_inplace(),
        view([](const Tensor& self, int64_t dim0, int64_t dim1) {
            return swapped(self, wrap_dim(dim0, self.dim()), wrap_dim(dim1, self.dim()));
        }),
        derivative(
            "self", GIVEN(Tensor grad, int64_t dim0, int64_t dim1) { return transpose(grad, dim0, dim1); }),
    });
    declare("t(Tensor(a) self) -> Tensor(a)")({
        doc("The transpose of a matrix"),
        copied(),
        inplace_is_method(),
        has_inplace(),
        batches([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is %ldD", self.dim());
            return self.dim() < 2 ? alias(self) : transpose(self, 0, 1);
        }),
        view([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is %ldD", self.dim());
            return swapped(self, 0, self.dim() < 2 ? 0 : 1);
        }),
        derivative(
            "self", GIVEN(Tensor grad) { return t(grad); }),
    });
    declare("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")({
        doc("Moves dimensions, keeping the order of the rest"),
        alias("moveaxis"),
        no_out(),
        composition(
            [](const Tensor& self, IntList source, IntList destination) { return permute(self, moved(self.dim(), source, destination)); }),
    });
    declare("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")({
        doc("Moves one dimension"),
        alias("moveaxis"),
        no_out(),
        composition([](const Tensor& self, int64_t source, int64_t destination) {
            return permute(self, moved(self.dim(), {source}, {destination}));
        }),
    });
    declare("numpy_T(Tensor(a) self) -> Tensor(a)")({
        doc("All dimensions reversed: the property T"),
        in(space::Hidden),
        no_out(),
        composition([](const Tensor& self) {
            Sizes order;
            for (int64_t i = self.dim(); i-- > 0;) order.push_back(i);
            return permute(self, order);
        }),
    });
    declare("matrix_H(Tensor(a) self) -> Tensor(a)")({
        doc("The conjugate transpose of a matrix: the property H"),
        in(space::Hidden),
        no_out(),
        composition([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dim() == 0 || self.dim() == 2,
                           "tensor.H is only supported on matrices (2-D tensors). Got %ld-D tensor.%s", self.dim(),
                           self.dim() > 2 ? " For batches of matrices, consider using tensor.mH" : "");
            Tensor transposed = self.dim() == 2 ? transpose(self, 0, 1) : self;
            return self.is_complex() ? conj(transposed) : transposed;
        }),
    });
    declare("mT(Tensor(a) self) -> Tensor(a)")({
        doc("The last two dimensions swapped: the property mT"),
        in(space::Hidden),
        no_out(),
        composition([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got %ld-D tensor.",
                           self.dim());
            return transpose(self, -2, -1);
        }),
    });
    declare("mH(Tensor(a) self) -> Tensor(a)")({
        doc("The last two dimensions swapped, conjugated: the property mH"),
        in(space::Hidden),
        no_out(),
        composition([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dim() >= 2, "tensor.mH is only supported on matrices or batches of matrices. Got %ld-D tensor.",
                           self.dim());
            Tensor transposed = transpose(self, -2, -1);
            return self.is_complex() ? conj(transposed) : transposed;
        }),
    });
    declare("adjoint(Tensor(a) self) -> Tensor(a)")({
        doc("The conjugate transpose of the last two dimensions"),
        no_out(),
        composition([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dim() != 1,
                           "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.");
            Tensor transposed = self.dim() ? transpose(self, -2, -1) : self;
            return self.is_complex() ? conj(transposed) : transposed;
        }),
    });
    declare("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)")({
        doc("A new dimension of size 1"),
        copied(),
        inplace_is_method(),
        has_inplace(),
        batches([](const Tensor& self, int64_t dim) {
            Mapped m({self});
            const int64_t place = wrap_dim(dim, self.dim() + 1) + (m.has(self) ? 1 : 0);
            return m.ties(self, [&] { return unsqueeze(m.bare(self), place); });
        }),
        view([](const Tensor& self, int64_t dim) {
            dim = wrap_dim(dim, self.dim() + 1);
            Sizes sizes = self.sizes(), strides = self.strides();
            size_t d = static_cast<size_t>(dim);
            int64_t stride = dim < self.dim() ? sizes[d] * strides[d] : 1;
            sizes.insert(d, 1);
            strides.insert(d, stride);
            return make_view(self, sizes, strides, self.storage_offset());
        }),
        derivative(
            "self", GIVEN(Tensor grad, int64_t dim) { return squeeze(grad, wrap_dim(dim, grad.dim())); }),
    });
    declare("squeeze(Tensor(a) self) -> Tensor(a)")({
        doc("Without dimensions of size 1"),
        copied(),
        inplace_is_method(),
        has_inplace(),
        batches([](const Tensor& self) {
            Sizes ones;
            for (int64_t d = 0; d < self.dim(); d++)
                if (self.size(d) == 1) ones.push_back(d);
            return squeeze(self, IntList(ones));
        }),
        view([](const Tensor& self) {
            Sizes sizes, strides;
            for (size_t i = 0; i < self.sizes().size(); i++)
                if (self.sizes()[i] != 1) {
                    sizes.push_back(self.sizes()[i]);
                    strides.push_back(self.strides()[i]);
                }
            return make_view(self, sizes, strides, self.storage_offset());
        }),
        derivative(
            "self", GIVEN(Tensor grad, SizeList self_sizes) { return grad.reshape(self_sizes); }),
    });
    declare("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)")({
        doc("Without dimension dim, if its size is 1"),
        copied(),
        inplace_is_method(),
        node(1),
        has_inplace(),
        view([](const Tensor& self, int64_t dim) {
            dim = wrap_dim(dim, self.dim());
            Sizes sizes = self.sizes(), strides = self.strides();
            if (self.dim() && sizes[static_cast<size_t>(dim)] == 1) {
                sizes.erase(static_cast<size_t>(dim));
                strides.erase(static_cast<size_t>(dim));
            }
            return make_view(self, sizes, strides, self.storage_offset());
        }),
        derivative(
            "self", GIVEN(Tensor grad, SizeList self_sizes) { return grad.reshape(self_sizes); }),
    });
    declare("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)")({
        doc("Without those of the given dimensions whose size is 1"),
        copied(),
        inplace_is_method(),
        node(2),
        has_inplace(),
        view([](const Tensor& self, IntList dim) {
            uint64_t mask = dim_mask(dim, self.dim(), false);
            Sizes sizes, strides;
            for (size_t i = 0; i < self.sizes().size(); i++)
                if (!(mask >> i & 1) || self.sizes()[i] != 1) {
                    sizes.push_back(self.sizes()[i]);
                    strides.push_back(self.strides()[i]);
                }
            return make_view(self, sizes, strides, self.storage_offset());
        }),
        derivative(
            "self", GIVEN(Tensor grad, SizeList self_sizes) { return grad.reshape(self_sizes); }),
    });
    declare("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)")({
        doc("One element along a dimension, which goes away"),
        copied(),
        view([](const Tensor& self, int64_t dim, int64_t index) { return selected(self, dim, index); }),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, int64_t dim, int64_t index) { return select_backward(grad, self_sizes, dim, index); }),
    });
    declare("select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor")({
        doc("Zeros, but for the selected element"),
        linear(),
        in(space::Hidden),
        by_parts(),
        kernel([](KernelCall& call, const Tensor& grad_output, IntList input_sizes, int64_t dim,
                  int64_t index) { return gives_gradient(call, grad_output, input_sizes, Part(input_sizes).select(dim, index)); },
               laid_there),
        derivative(
            "grad_output", GIVEN(Tensor grad, int64_t dim, int64_t index) { return select(grad, dim, index); }),
    });
    declare("slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)")({
        doc("Elements start to end along a dimension, every step-th"),
        copied(),
        in(space::Hidden),
        view([](const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
            return sliced(self, dim, start.value_or(0), end.value_or(INT64_MAX), step);
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
                return slice_backward(grad, self_sizes, dim, start.value_or(0), end.value_or(INT64_MAX), step);
            }),
    });
    declare("slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor")({
        doc("Zeros, but for the slice"),
        linear(),
        in(space::Hidden),
        by_parts(),
        kernel([](KernelCall& call, const Tensor& grad_output, IntList input_sizes, int64_t dim, int64_t start, int64_t end,
                  int64_t step) { return gives_gradient(call, grad_output, input_sizes, Part(input_sizes).slice(dim, start, end, step)); },
               laid_there),
        derivative(
            "grad_output",
            GIVEN(Tensor grad, int64_t dim, int64_t start, int64_t end, int64_t step) { return slice(grad, dim, start, end, step); }),
    });
    declare("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)")({
        doc("length elements from start along a dimension"),
        no_out(),
        composition([](const Tensor& self, int64_t dim, int64_t start, int64_t length) {
            check_narrow(self, dim, start, length);
            if (start < 0) start += self.size(dim);
            return slice(self, dim, start, start + length, 1);
        }),
    });
    declare("narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)")({
        doc("narrow with its start in a 0-d tensor"),
        no_out(),
        composition([](const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
            KINDLING_CHECK(Runtime, start.dim() == 0 && is_integral(start.dtype()), "start must be an 0-dim integral Tensor.");
            return narrow(self, dim, start.item<int64_t>(), length);
        }),
    });
    declare("narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor")({
        doc("narrow into fresh memory"),
        composition([](const Tensor& self, int64_t dim, int64_t start, int64_t length) {
            KINDLING_CHECK(
                Runtime, dim < self.dim(),
                "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false: narrow_copy along dimension %ld of %s",
                dim, str(self.sizes()).c_str());
            return clone(narrow(self, dim, start, length), MemoryFormat::Contiguous);
        }),
    });
    declare("diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")({
        doc("The diagonal of two dimensions, as the last dimension"),
        copied(),
        view([](const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
            return Part(self).diagonal(offset, dim1, dim2).of(self);
        }),
        derivative(
            "self", GIVEN(Tensor grad, IntList self_sizes, int64_t offset, int64_t dim1,
                          int64_t dim2) { return diagonal_backward(grad, self_sizes, offset, dim1, dim2); }),
    });
    declare("diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor")({
        doc("Zeros, but for the diagonal"),
        linear(),
        in(space::Hidden),
        by_parts(),
        kernel([](KernelCall& call, const Tensor& grad_output, IntList input_sizes, int64_t offset, int64_t dim1,
                  int64_t dim2) { return gives_gradient(call, grad_output, input_sizes, Part(input_sizes).diagonal(offset, dim1, dim2)); },
               laid_there),
        derivative(
            "grad_output", GIVEN(Tensor grad, int64_t offset, int64_t dim1, int64_t dim2) { return diagonal(grad, offset, dim1, dim2); }),
    });
    declare("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)")({
        doc("Windows of `size` along a dimension, every `step`; the window is a new last dimension"),
        copied(),
        in(space::Method),
        view([](const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
            return Part(self).unfold(dimension, size, step).of(self);
        }),
        derivative(
            "self", GIVEN(Tensor grad, IntList self_sizes, int64_t dimension, int64_t size,
                          int64_t step) { return unfold_backward(grad, self_sizes, dimension, size, step); }),
    });
    declare("unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, SymInt size, SymInt step) -> Tensor")({
        doc("Adds up what every window gave"),
        linear(),
        in(space::Hidden),
        by_parts(),
        kernel(
            [](KernelCall& call, const Tensor& grad_in, IntList input_sizes, int64_t dim, int64_t size, int64_t step) {
                KINDLING_CHECK(Value, step > 0, "step is %ld but must be > 0", step);
                return std::pair(gives_gradient(call, grad_in, input_sizes, Part(input_sizes).unfold(dim, size, step)), step >= size);
            },
            [](const std::pair<Part, bool>& windows, const Array& grad, const Array& result) {
                const auto& [all, apart] = windows;
                if (apart) return copy_part(result, all, grad, Part(grad));
                const Part given(all.sizes, expanded_strides(grad.sizes(), grad.strides(), all.sizes));
                for (int64_t i = 0; i < all.sizes.back(); i++) { // no overlap within one i
                    Part there = all, here = given;
                    add_part(result, there.select(-1, i), grad, here.select(-1, i));
                }
            }),
        derivative(
            "grad_in", GIVEN(Tensor grad, int64_t dim, int64_t size, int64_t step) { return unfold(grad, dim, size, step); }),
    });
    declare("as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)")({
        doc("Any sizes, strides and offset over the same memory"),
        copied(),
        has_inplace(),
        batches([](const Tensor& self, IntList size, IntList stride, std::optional<int64_t> offset) {
            Mapped m({self});
            const int64_t start = offset.value_or(self.storage_offset());
            if (m.has(self)) check_within_slice(self, size, stride, start);
            return m.ties(self, [&] {
                const Tensor inner = m.bare(self);
                return m.has(self) ? as_strided(inner, m.sizes_with(size), m.strides_with(inner, stride), start)
                                   : as_strided(inner, size, stride, start);
            });
        }),
        view([](const Tensor& self, IntList size, IntList stride, std::optional<int64_t> storage_offset) {
            int64_t offset = storage_offset.value_or(self.storage_offset());
            check_strided(self, size, stride, offset);
            return make_view(self, size, stride, offset);
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, IntList size, IntList stride, std::optional<int64_t> storage_offset) {
                return as_strided_gradient(grad, self_shape, size, stride, storage_offset.value_or(self_shape.storage_offset()));
            }),
    });
    declare("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]")({
        doc("Pieces of split_size along a dimension; the last may be smaller"),
        view([](const Tensor& self, int64_t split_size, int64_t dim) {
            KINDLING_CHECK(Runtime, self.dim() > 0, "split expects at least a 1-dimensional tensor");
            KINDLING_CHECK(Runtime, split_size >= 0, "split expects split_size be non-negative, but got split_size=%ld", split_size);
            int64_t size = self.size(dim);
            KINDLING_CHECK(Runtime, split_size > 0 || size == 0,
                           "split_size can only be 0 if dimension size is 0, but got dimension size of %ld", size);
            std::vector<Tensor> pieces;
            int64_t count = split_size ? std::max<int64_t>(pieces_of(size, split_size), 1) : 1;
            for (int64_t i = 0; i < count; i++)
                pieces.push_back(sliced(self, dim, i * split_size, i + 1 < count ? (i + 1) * split_size : size, 1));
            return pieces;
        }),
        derivative(
            "self",
            GIVEN(TensorList grads, Tensor self_shape, int64_t split_size, int64_t dim) {
                std::vector<Tensor> pieces;
                int64_t size = self_shape.size(dim), start = 0;
                DType dtype = self_shape.dtype();
                for (const Tensor& grad : grads) {
                    int64_t length = std::min(split_size, size - start);
                    Sizes sizes = self_shape.sizes();
                    sizes[static_cast<size_t>(wrap_dim(dim, self_shape.dim()))] = length;
                    pieces.push_back(grad.defined() ? grad : zeros(sizes, dtype));
                    start += length;
                }
                return cat(pieces, dim);
            }),
    });
    declare("split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]")({
        doc("Pieces of the given sizes along a dimension"),
        composition([](const Tensor& self, IntList split_size, int64_t dim) { return split_with_sizes(self, split_size, dim); }),
    });
    declare("split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]")({
        doc("Pieces of the given sizes along a dimension"),
        copied(),
        view([](const Tensor& self, IntList split_sizes, int64_t dim) {
            KINDLING_CHECK(Runtime, self.dim() > 0, "split expects at least a 1-dimensional tensor");
            int64_t size = self.size(dim), start = 0, sum = 0;
            for (int64_t length : split_sizes) {
                KINDLING_CHECK(Runtime, length >= 0,
                               "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=%s",
                               str(split_sizes).c_str());
                if (__builtin_add_overflow(sum, length, &sum)) sum = -1;
                if (sum < 0) break;
            }
            KINDLING_CHECK(Runtime, sum == size,
                           "split_with_sizes expects split_sizes to sum exactly to %ld (input tensor's size at "
                           "dimension %ld), but got split_sizes=%s",
                           size, dim, str(split_sizes).c_str());
            std::vector<Tensor> pieces;
            for (int64_t length : split_sizes) {
                pieces.push_back(sliced(self, dim, start, start + length, 1));
                start += length;
            }
            return pieces;
        }),
        derivative(
            "self",
            GIVEN(TensorList grads, Tensor self_shape, IntList split_sizes, int64_t dim) {
                std::vector<Tensor> pieces;
                for (size_t i = 0; i < grads.size(); i++) {
                    Sizes sizes = self_shape.sizes();
                    sizes[static_cast<size_t>(wrap_dim(dim, self_shape.dim()))] = split_sizes[i];
                    pieces.push_back(grads[i].defined() ? grads[i] : zeros(sizes, self_shape.dtype()));
                }
                return cat(pieces, dim);
            }),
    });
    declare("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")({
        doc("At most that many pieces of equal size"),
        composition([](const Tensor& self, int64_t chunks, int64_t dim) {
            KINDLING_CHECK(Runtime, self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
            KINDLING_CHECK(Runtime, chunks > 0, "chunk expects `chunks` to be greater than 0, got: %ld", chunks);
            const Size size = size_of(self, dim);
            const Size piece = size.symbol() ? (size + chunks - 1) / chunks : Size(pieces_of(size.hint(), chunks));
            if (size.hint() == 0) {
                std::vector<int64_t> sizes(static_cast<size_t>(chunks), 0);
                return split_with_sizes(self, sizes, dim);
            }
            return split(self, piece, dim);
        }),
    });
    declare("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")({
        doc("The slices along a dimension, which goes away"),
        copied(),
        view([](const Tensor& self, int64_t dim) {
            KINDLING_CHECK(Index, self.dim() > 0, "Dimension specified as %ld but tensor has no dimensions", dim);
            std::vector<Tensor> slices;
            for (int64_t i = 0, count = self.size(dim); i < count; i++) slices.push_back(selected(self, dim, i));
            return slices;
        }),
        derivative(
            "self",
            GIVEN(TensorList grads, Tensor self_shape, int64_t dim) {
                Sizes sizes = self_shape.sizes();
                sizes.erase(static_cast<size_t>(wrap_dim(dim, self_shape.dim())));
                std::vector<Tensor> slices;
                for (const Tensor& grad : grads) slices.push_back(grad.defined() ? grad : zeros(sizes, self_shape.dtype()));
                return slices.empty() ? zeros(self_shape.sizes(), self_shape.dtype()) : stack(slices, dim);
            }),
    });
    declare("view_as_real(Tensor(a) self) -> Tensor(a)")({
        doc("Complex numbers as a last dimension of two reals"),
        view([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.is_complex(), "view_as_real is only supported for complex tensors");
            KINDLING_CHECK(
                Runtime, !self.is_conj(),
                "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, "
                "use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original.");
            Sizes sizes = self.sizes();
            sizes.push_back(2);
            return make_view(self, sizes, with_reals(self.strides(), 1, 2), self.storage_offset() * 2, to_real(self.dtype()));
        }),
        derivative(
            "self", GIVEN(Tensor grad) { return view_as_complex(contiguous(grad)); }),
    });
    declare("view_as_complex(Tensor(a) self) -> Tensor(a)")({
        doc("A last dimension of two reals as complex numbers"),
        copied(),
        flags(trait::AutocastFloat),
        view([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dtype() == DType::Float32 || self.dtype() == DType::Float64,
                           "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: %s",
                           scalar_type_name(self.dtype()));
            KINDLING_CHECK(Runtime, self.dim() > 0, "Input tensor must have one or more dimensions");
            KINDLING_CHECK(Runtime, self.size(-1) == 2, "Tensor must have a last dimension of size 2");
            KINDLING_CHECK(Runtime, self.stride(-1) == 1, "Tensor must have a last dimension with stride 1");
            Sizes sizes = self.sizes(), strides = self.strides();
            sizes.pop_back();
            strides.pop_back();
            for (size_t d = 0; d < sizes.size(); d++) {
                KINDLING_CHECK(Runtime, strides[d] % 2 == 0 || sizes[d] == 1,
                               "Tensor must have a stride divisible by 2 for all but last dimension");
                strides[d] /= 2;
            }
            KINDLING_CHECK(Runtime, self.storage_offset() % 2 == 0, "Tensor must have a storage_offset divisible by 2");
            return make_view(self, sizes, strides, self.storage_offset() / 2, to_complex(self.dtype()));
        }),
        derivative(
            "self", GIVEN(Tensor grad) { return view_as_real(resolve_conj(grad)); }),
    });
    declare("_conj(Tensor(a) self) -> Tensor(a)")({
        doc("The complex conjugate, worked off when it is used"),
        in(space::Torch | space::Method),
        keeps_conj(),
        view([](const Tensor& self) {
            Tensor result = make_view(self, self.sizes(), self.strides(), self.storage_offset());
            result.impl()->key ^= key::Conj;
            return result;
        }),
        derivative(
            "self", GIVEN(Tensor grad) { return conj(grad); }),
    });
    declare("_neg_view(Tensor(a) self) -> Tensor(a)")({
        doc("The negative, worked off when it is used"),
        in(space::Torch | space::Method),
        keeps_conj(),
        view([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dtype() != DType::Bool,
                           "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
                           "or `logical_not()` operator instead.");
            Tensor result = make_view(self, self.sizes(), self.strides(), self.storage_offset());
            result.impl()->key ^= key::Neg;
            return result;
        }),
        derivative(
            "self", GIVEN(Tensor grad) { return neg(grad); }),
    });
    declare("conj(Tensor(a) self) -> Tensor(a)")({
        doc("The complex conjugate: a lazy view of complex tensors, the tensor itself otherwise"),
        no_out(),
        composition([](const Tensor& self) { return self.is_complex() ? _conj(self) : self; }),
    });
    declare("resolve_conj(Tensor(a) self) -> Tensor(a)")({
        doc("The same numbers without a pending conjugate"),
        takes_float8(),
        no_out(),
        composition([](const Tensor& self) { return self.is_conj() ? clone(self) : self; }),
    });
    declare("resolve_neg(Tensor(a) self) -> Tensor(a)")({
        doc("The same numbers without a pending sign"),
        takes_float8(),
        no_out(),
        composition([](const Tensor& self) { return self.is_neg() ? clone(self) : self; }),
    });
    declare("real(Tensor(a) self) -> Tensor(a)")({
        doc("The real parts: a view of complex tensors, the tensor itself otherwise"),
        no_out(),
        composition([](const Tensor& self) {
            if (!self.is_complex()) return self;
            return select(view_as_real(self.is_conj() ? _conj(self) : self), -1, 0);
        }),
    });
    declare("imag(Tensor(a) self) -> Tensor(a)")({
        doc("The imaginary parts, as a view"),
        no_out(),
        composition([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.is_complex(), "imag is not implemented for tensors with non-complex dtypes.");
            if (!self.is_conj()) return select(view_as_real(self), -1, 1);
            return _neg_view(select(view_as_real(_conj(self)), -1, 1));
        }),
    });
    declare("hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")({
        doc("Splits along the second dimension (the first of a vector)"),
        composition([](const Tensor& self, int64_t sections) {
            KINDLING_CHECK(Runtime, self.dim() >= 1,
                           "torch.hsplit requires a tensor with at least 1 dimension, but got a tensor with %ld dimensions!", self.dim());
            int64_t dim = self.dim() == 1 ? 0 : 1;
            KINDLING_CHECK(Runtime, sections > 0 && self.size(dim) % sections == 0,
                           "torch.hsplit attempted to split along dimension %ld, but the size of the dimension %ld is not divisible by the "
                           "split_size %ld!",
                           dim, self.size(dim), sections);
            return tensor_split(self, sections, self.dim() == 1 ? 0 : 1);
        }),
    });
    declare("hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")({
        doc("Splits along the second dimension (the first of a vector) before the given places"),
        composition([](const Tensor& self, IntList indices) {
            KINDLING_CHECK(Runtime, self.dim() >= 1,
                           "torch.hsplit requires a tensor with at least 1 dimension, but got a tensor with %ld dimensions!", self.dim());
            return tensor_split(self, indices, self.dim() == 1 ? 0 : 1);
        }),
    });
    declare("vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")({
        doc("Splits along the first dimension"),
        composition([](const Tensor& self, int64_t sections) {
            KINDLING_CHECK(Runtime, self.dim() >= 2,
                           "torch.vsplit requires a tensor with at least 2 dimension, but got a tensor with %ld dimensions!", self.dim());
            KINDLING_CHECK(Runtime, sections > 0 && self.size(0) % sections == 0,
                           "torch.vsplit attempted to split along dimension 0, but the size of the dimension %ld is not divisible by the "
                           "split_size %ld!",
                           self.size(0), sections);
            return tensor_split(self, sections, 0);
        }),
    });
    declare("vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")({
        doc("Splits along the first dimension before the given places"),
        composition([](const Tensor& self, IntList indices) {
            KINDLING_CHECK(Runtime, self.dim() >= 2,
                           "torch.vsplit requires a tensor with at least 2 dimension, but got a tensor with %ld dimensions!", self.dim());
            return tensor_split(self, indices, 0);
        }),
    });
    declare("dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")({
        doc("Splits along the third dimension"),
        composition([](const Tensor& self, int64_t sections) {
            KINDLING_CHECK(Runtime, self.dim() >= 3,
                           "torch.dsplit requires a tensor with at least 3 dimension, but got a tensor with %ld dimensions!", self.dim());
            KINDLING_CHECK(Runtime, sections > 0 && self.size(2) % sections == 0,
                           "torch.dsplit attempted to split along dimension 2, but the size of the dimension %ld is not divisible by the "
                           "split_size %ld!",
                           self.size(2), sections);
            return tensor_split(self, sections, 2);
        }),
    });
    declare("dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")({
        doc("Splits along the third dimension before the given places"),
        composition([](const Tensor& self, IntList indices) {
            KINDLING_CHECK(Runtime, self.dim() >= 3,
                           "torch.dsplit requires a tensor with at least 3 dimension, but got a tensor with %ld dimensions!", self.dim());
            return tensor_split(self, indices, 2);
        }),
    });
    declare("tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]")({
        doc("tensor_split with its places, or number of pieces, in a tensor"),
        composition([](const Tensor& self, const Tensor& where, int64_t dim) {
            KINDLING_CHECK(Runtime, self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with %ld dims",
                           self.dim());
            KINDLING_CHECK(Runtime, where.dtype() == DType::Int64,
                           "tensor_split expected tensor_indices_or_sections to have dtype of long, but got %s",
                           scalar_type_name(where.dtype()));
            KINDLING_CHECK(Runtime, where.dim() <= 1,
                           "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a "
                           "tensor with %ld dims",
                           where.dim());
            if (where.dim() == 0) return tensor_split(self, where.item<int64_t>(), dim);
            std::vector<int64_t> indices;
            for (int64_t i = 0; i < where.numel(); i++) indices.push_back(select(where, 0, i).item<int64_t>());
            return tensor_split(self, indices, dim);
        }),
    });
    declare("tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]")({
        doc("That many pieces, the first ones larger by one where it does not divide"),
        composition([](const Tensor& self, int64_t sections, int64_t dim) {
            KINDLING_CHECK(Runtime, self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with %ld dims",
                           self.dim());
            KINDLING_CHECK(Runtime, sections > 0, "number of sections must be larger than 0, got %ld", sections);
            KINDLING_CHECK(Runtime, sections <= int64_t{1} << 24, "tensor_split: %ld sections are too many", sections);
            std::vector<Tensor> pieces;
            int64_t size = self.size(dim), start = 0;
            for (int64_t i = 0; i < sections; i++) {
                int64_t length = size / sections + (i < size % sections);
                pieces.push_back(slice(self, dim, start, start + length, 1));
                start += length;
            }
            return pieces;
        }),
    });
    declare("tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]")({
        doc("Pieces that end before the given places"),
        composition([](const Tensor& self, IntList indices, int64_t dim) {
            KINDLING_CHECK(Runtime, self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with %ld dims",
                           self.dim());
            std::vector<Tensor> pieces;
            int64_t start = 0;
            for (int64_t end : indices) {
                pieces.push_back(slice(self, dim, start, end, 1));
                start = end;
            }
            pieces.push_back(slice(self, dim, start, self.size(dim), 1));
            return pieces;
        }),
    });
}
