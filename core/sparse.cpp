// core/sparse.cpp: creation of sparse tensors' headers, and access to their parts.
// Compiled for size.
#include "core/sparse.h"

#include "core/error.h"
#include "core/thread_state.h"

namespace kindling {

const char* name(Layout layout) {
    static constexpr const char* names[] = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc",
                                            "sparse_bsr", "sparse_bsc", "jagged",     "_mkldnn"};
    return names[static_cast<int>(layout)];
}

const char* layout_word(Layout layout) {
    static constexpr const char* names[] = {"Strided", "Sparse", "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc", "Jagged", "Mkldnn"};
    return names[static_cast<int>(layout)];
}

SparseParts& parts_of(const Tensor& sparse) {
    KINDLING_CHECK(NotImplemented, is_sparse(sparse),
                   "Could not run a sparse operator with arguments from the 'CPU' backend: it got a tensor that is strided");
    return *static_cast<SparseParts*>(sparse.storage()->context);
}

/// The same memory under a header of its own, which no history is attached to.
static Tensor without_history(const Tensor& tensor) {
    if (!tensor.defined() || !(key_of(tensor.impl()) & key::Autograd || tensor.impl()->base || tensor.impl()->python)) return tensor;
    Tensor plain = untied(make_view(tensor, tensor.sizes(), tensor.strides(), tensor.storage_offset()));
    plain.impl()->creation = Creation::Default;
    return plain;
}

Tensor make_sparse(Layout layout, IntList sizes, SparseParts parts) {
    Device device = parts.values.device();
    DType dtype = parts.values.dtype();
    auto* kept =
        new SparseParts{without_history(parts.indices), without_history(parts.values), without_history(parts.compressed), parts.coalesced};
    auto storage =
        Storage::adopt(nullptr, 0, [](void* context, void*, size_t) { delete static_cast<SparseParts*>(context); }, kept, device);
    auto impl = Ref<TensorImpl>::adopt(new TensorImpl);
    impl->dtype = dtype;
    impl->set_shape(sizes, Sizes(sizes.size(), 0)); // torch's strides of them
    impl->layout = layout;
    impl->key = key::Layout | (device.type == DeviceType::Meta ? key::Meta : 0u);
    impl->device = device.plain();
    impl->inference = impl->uncounted = thread_state.inference_mode;
    impl->storage = storage.take();
    impl->version = &impl->storage->version;
    return Tensor(std::move(impl));
}

void replace_parts(const Tensor& self, const Tensor& from) {
    KINDLING_ASSERT(self.impl()->layout == from.impl()->layout);
    SparseParts parts = parts_of(from);
    TensorImpl* impl = self.impl();
    if (impl->storage->owners() > 1) { // what was detached before keeps what it had
        Tensor own = make_sparse(impl->layout, from.sizes(), std::move(parts));
        impl->keep_version();
        Storage* old = impl->storage;
        own.storage()->retain();
        impl->storage = own.storage();
        release(old);
    } else {
        parts_of(self) = std::move(parts);
    }
    impl->set_shape(from.sizes(), from.strides());
}

int64_t dense_dims(const Tensor& t) {
    const SparseParts& parts = parts_of(t);
    if (is_coo(t)) return parts.values.dim() - 1;
    return parts.values.dim() - parts.indices.dim() - (is_blocked(t.impl()->layout) ? 2 : 0);
}

} // namespace kindling
