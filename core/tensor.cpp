// core/tensor.cpp: creation of tensors and views, resizing, reading of single elements.
#include "core/tensor.h"
#include "core/batch.h"

#include <atomic>

#include "core/dispatch.h"
#include "core/shape.h"

namespace kindling {

static constinit DType the_default_dtype = DType::Float32;
DType default_dtype() { return the_default_dtype; }
void set_default_dtype(DType dtype) {
    KINDLING_CHECK(Type, is_floating(dtype), "only floating-point types are supported as the default type");
    the_default_dtype = dtype;
}

static void place(TensorImpl* impl, Device device) {
    impl->device = device.plain();
    if (is_float8(impl->dtype)) impl->key |= key::Float8;
    if (device.type == DeviceType::Meta) impl->key |= key::Meta;
    else if (is_private(device.type)) impl->key |= key::Private;
    if (thread_state.inference_mode) impl->inference = impl->uncounted = true;
}

/// Sizes and strides of a fresh header in row-major order, in one pass; gives the bytes, or 0 where the general way has to look:
/// at empty, large, refused and high-dimensional ones.
static size_t lay_out(TensorImpl* fresh, IntList sizes) {
    const size_t n = sizes.size();
    if (n > TensorImpl::inline_dims) return 0;
    int64_t step = 1;
    bool odd = false;
    for (size_t i = n; i-- > 0;) {
        fresh->shape[i] = sizes[i];
        fresh->shape[n + i] = step;
        odd |= sizes[i] <= 0;
        odd |= __builtin_mul_overflow(step, sizes[i], &step);
    }
    int64_t bytes;
    odd |= __builtin_mul_overflow(step, static_cast<int64_t>(item_size(fresh->dtype)), &bytes);
    if (odd) return 0;
    fresh->ndim = static_cast<uint8_t>(n);
    fresh->numel = step;
    fresh->contiguous = fresh->non_overlapping_dense = true;
    if (n > 3) fresh->refresh(); // sizes of 1 may make it channels last, too
    return static_cast<size_t>(bytes);
}

static void give_storage(TensorImpl* impl, size_t bytes, Device device) {
    place(impl, device);
    impl->storage = Storage::make(bytes, device).take();
    impl->version = &impl->storage->version;
}

Tensor make_tensor(IntList sizes, IntList strides, DType dtype, Device device) {
    if (device.type != DeviceType::CPU && device.type != DeviceType::Meta) [[unlikely]] {
        bool there = is_private(device.type) && private_device(device.type).allocate;
        KINDLING_CHECK(NotImplemented, there,
                       is_private(device.type) ? "Could not allocate on device '%s': no plug-in has said how"
                                               : "Could not allocate on device '%s': Kindling is built for the CPU",
                       name(device.type));
        if (device.index < 0) {
            PrivateDevice& which = private_device(device.type);
            device.index = which.current ? static_cast<int8_t>(which.current(which.context)) : 0;
        }
    }
    auto impl = Ref<TensorImpl>::adopt(new TensorImpl);
    impl->dtype = dtype;
    impl->set_shape(sizes, strides);
    checked_numel(sizes);
    give_storage(impl.get(), checked_bytes(sizes, strides, 0, item_size(dtype)), device);
    return Tensor(std::move(impl));
}

Tensor make_tensor(IntList sizes, DType dtype, Device device) {
    if (device.type == DeviceType::CPU || device.type == DeviceType::Meta) [[likely]] {
        auto impl = Ref<TensorImpl>::adopt(new TensorImpl);
        impl->dtype = dtype;
        if (const size_t bytes = lay_out(impl.get(), sizes)) {
            give_storage(impl.get(), bytes, device);
            return Tensor(std::move(impl));
        }
    }
    checked_numel(sizes);
    return make_tensor(sizes, contiguous_strides(sizes), dtype, device);
}

Tensor make_tensor(Ref<Storage> storage, int64_t offset, IntList sizes, IntList strides, DType dtype) {
    KINDLING_CHECK(Runtime, offset >= 0, "Tensor: invalid storage offset %ld", offset);
    KINDLING_CHECK(Runtime, checked_bytes(sizes, strides, offset, item_size(dtype)) <= storage->bytes,
                   "setStorage: sizes %s, strides %s, storage offset %ld, and itemsize %zu requiring a storage size of %zu "
                   "are out of bounds for storage of size %zu",
                   str(sizes).c_str(), str(strides).c_str(), offset, item_size(dtype),
                   checked_bytes(sizes, strides, offset, item_size(dtype)), storage->bytes);
    auto impl = Ref<TensorImpl>::adopt(new TensorImpl);
    impl->dtype = dtype;
    impl->set_shape(sizes, strides);
    place(impl.get(), storage->device);
    impl->offset = offset;
    impl->storage = storage.take();
    impl->version = &impl->storage->version;
    return Tensor(std::move(impl));
}

void count_detached(TensorImpl* impl, const TensorImpl* from) {
    if (!from->inference) return;
    impl->uncounted = thread_state.inference_mode;
    if (!impl->uncounted) impl->start_version(0);
}

void fail_uncounted() { fail(ErrorKind::Runtime, "Inference tensors do not track version counter."); }

void tie_view(TensorImpl* impl, TensorImpl* from) {
    if (from->inference) return;
    if (from->uncounted) [[unlikely]]
        fail_uncounted();
    impl->base = from->base ? from->base : from;
    impl->base->retain();
    impl->is_view = true;
    impl->view_version = from->version->load(std::memory_order_relaxed);
    impl->creation = thread_state.inference_mode ? Creation::Inference : !thread_state.grad_mode ? Creation::NoGrad : from->creation;
}

Tensor make_view(const Tensor& source, IntList sizes, IntList strides, int64_t offset, DType dtype) {
    TensorImpl* from = source.impl();
    if (from->key & key::Wrapped) [[unlikely]]
        return view_batched(source, sizes, strides, offset, dtype);
    auto impl = Ref<TensorImpl>::adopt(new TensorImpl);
    impl->dtype = dtype;
    impl->set_shape(sizes, strides);
    impl->key =
        (from->key & (key::Meta | key::Private | key::Conj | key::Neg | key::Layout)) | (is_float8(dtype) ? uint32_t{key::Float8} : 0);
    impl->layout = from->layout;
    impl->device = from->device;
    impl->inference = impl->uncounted = from->inference;
    impl->offset = offset;
    from->storage->retain();
    impl->storage = from->storage;
    impl->share_version(from);
    tie_view(impl.get(), from);
    return Tensor(std::move(impl));
}

Tensor untied(Tensor view) {
    TensorImpl* impl = view.impl();
    if (impl->base) release(impl->base);
    impl->base = nullptr;
    impl->is_view = false;
    impl->creation = Creation::Default;
    return view;
}

Tensor make_view(const Tensor& source, IntList sizes, IntList strides, int64_t offset) {
    return make_view(source, sizes, strides, offset, source.dtype());
}

void resize_tensor(const Tensor& out, IntList sizes, IntList strides) {
    checked_numel(sizes);
    size_t bytes = checked_bytes(sizes, strides, out.storage_offset(), out.element_size());
    if (bytes > out.storage()->bytes) out.storage()->resize(bytes);
    out.impl()->set_shape(sizes, strides);
}

// Numbers have no dimension to ask about, though wrap_dim lets 0 and -1 pass for them (sum(dim=0) of a number is fine).
static int64_t real_dim(int64_t dim, int64_t ndim) {
    KINDLING_CHECK(Index, ndim > 0, "Dimension specified as %ld but tensor has no dimensions", dim);
    return wrap_dim(dim, ndim);
}
int64_t Tensor::size(int64_t dim) const { return impl_->shape[real_dim(dim, impl_->ndim)]; }
int64_t Tensor::stride(int64_t dim) const { return impl_->strides()[real_dim(dim, impl_->ndim)]; }

bool Tensor::is_contiguous(MemoryFormat format) const {
    if (format == MemoryFormat::ChannelsLast) return impl_->channels_last;
    if (format == MemoryFormat::ChannelsLast3d) return impl_->channels_last_3d;
    return impl_->contiguous;
}

/// As in PyTorch, strides alone say it: a slice of channels is still laid out channels last, gaps and all. Strides that
/// would fit both formats, as of [N, 1, 1, 1], count as contiguous.
MemoryFormat Tensor::suggest_memory_format() const {
    const int dims = impl_->ndim;
    const int64_t *sizes = impl_->sizes(), *strides = impl_->strides();
    if ((dims != 4 && dims != 5) || strides[1] == 0) return MemoryFormat::Contiguous;
    int64_t least = 0;
    for (int step = 0; step < dims; step++) {
        const int d = step == 0 ? 1 : step == dims - 1 ? 0 : dims - step; // channels, then space from the last dimension on, then samples
        if (sizes[d] == 0 || strides[d] < least || (d == 0 && least == strides[1])) return MemoryFormat::Contiguous;
        least = sizes[d] > 1 ? strides[d] * sizes[d] : strides[d];
    }
    return dims == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

std::string str(const Tensor& tensor) {
    if (!tensor.defined()) return "undefined Tensor";
    return std::string("Tensor of ") + name(tensor.dtype()) + " " + str(tensor.sizes());
}

/// An integer, its sign changed within its own dtype.
template <class T> static Scalar read(const void* data, bool negative) {
    T value = *static_cast<const T*>(data);
    value = static_cast<T>(negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
    if constexpr (sizeof(T) == 8) return Scalar(value);
    else return Scalar(int64_t{value});
}

void fail_without_memory(const TensorImpl* tensor) {
    if (tensor->key & key::Wrapped) fail_batched();
    fail(ErrorKind::Runtime, "The tensor has a non-zero number of elements, but its data is not allocated yet.");
}

Scalar Tensor::item_scalar() const {
    KINDLING_CHECK(Runtime, numel() == 1, "a Tensor with %ld elements cannot be converted to Scalar", numel());
    if (impl_->key & (key::Dispatch | key::Layout | key::Wrapped) & ~thread_state.exclude)
        [[unlikely]] { // what it wraps or owns has the number
        static constinit std::atomic<const Operator*> dense{nullptr};
        const Operator* op = dense.load(std::memory_order_acquire);
        if (!op) dense.store(op = find_operator("_local_scalar_dense", ""), std::memory_order_release);
        Value self(*this), result;
        call(*op, &self, &result);
        return result.scalar();
    }
    KINDLING_CHECK(Runtime, !is_meta(), "Tensor.item() cannot be called on meta tensors");
    if (impl_->key & key::Private) return host_copy(*this).item_scalar();
    need_memory(impl());
    const void* p = data();
    double sign = is_neg() ? -1 : 1;
    switch (dtype()) {
    case DType::UInt8: return read<uint8_t>(p, is_neg());
    case DType::Int8: return read<int8_t>(p, is_neg());
    case DType::Int16: return read<int16_t>(p, is_neg());
    case DType::Int32: return read<int32_t>(p, is_neg());
    case DType::Int64: return read<int64_t>(p, is_neg());
    case DType::UInt16: return read<uint16_t>(p, is_neg());
    case DType::UInt32: return read<uint32_t>(p, is_neg());
    case DType::UInt64: return read<uint64_t>(p, is_neg());
    case DType::Bool: return Scalar(*static_cast<const bool*>(p));
    case DType::Float16: return Scalar(sign * to_float(*static_cast<const Half*>(p)));
    case DType::BFloat16: return Scalar(sign * to_float(*static_cast<const BFloat16*>(p)));
    case DType::Float32: return Scalar(sign * *static_cast<const float*>(p));
    case DType::Float64: return Scalar(sign * *static_cast<const double*>(p));
    default: break;
    }
    if (is_float8(dtype())) return Scalar(sign * to_float(dtype(), *static_cast<const uint8_t*>(p)));
    std::complex<double> z = dtype() == DType::Complex64 ? std::complex<double>(*static_cast<const std::complex<float>*>(p))
                                                         : *static_cast<const std::complex<double>*>(p);
    if (is_conj()) z = std::conj(z);
    return Scalar(sign * z);
}

} // namespace kindling
