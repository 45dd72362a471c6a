// core/tensor_impl.cpp: release of tensor headers, their shapes and contiguity, shared version counters.
#include "core/tensor_impl.h"

#include "core/shape.h"

namespace kindling {

void (*release_python)(TensorImpl* impl) = nullptr;

static void let_go(VersionCounter* counter) {
    if (!counter->drop()) return;
    if (counter->of) release_count(counter->of);
    delete counter;
}

TensorImpl::~TensorImpl() {
    if (autograd) destroy(autograd);
    if (base) kindling::release(base);
    if (own_version) let_go(own_version);
    if (storage) kindling::release(storage);
    if (shape != inline_) ::operator delete(shape);
}

void release(TensorImpl* impl) {
    if (!impl->drop()) return;
    if (impl->owns_python) return release_python(impl); // the object dies first and deletes the header
    delete impl;
}

void TensorImpl::set_shape(IntList sizes, IntList strides) {
    KINDLING_CHECK(Runtime, sizes.size() <= max_dims, "a tensor has at most %d dimensions, not %zu", max_dims, sizes.size());
    size_t n = sizes.size();
    int64_t kept[2 * max_dims]; // the arguments may point into this very header
    for (size_t i = 0; i < n; i++) {
        kept[i] = sizes[i];
        kept[n + i] = strides[i];
    }
    if (n != ndim) {
        if (shape != inline_) ::operator delete(shape);
        shape = n <= inline_dims ? inline_ : static_cast<int64_t*>(::operator new(2 * n * sizeof(int64_t)));
        ndim = static_cast<uint8_t>(n);
    }
    for (size_t i = 0; i < 2 * n; i++) shape[i] = kept[i];
    refresh();
}

void TensorImpl::start_version(uint32_t value) {
    VersionCounter* fresh = new VersionCounter;
    fresh->value.store(value);
    if (own_version) let_go(own_version);
    own_version = fresh;
    version = &fresh->value;
}

void TensorImpl::keep_version() {
    if (own_version) return;
    if (storage->owners() == 1 && !storage->counters) return start_version(version->load()); // nobody else counts with it
    own_version = new VersionCounter;
    own_version->of = storage;
    keep_count(storage);
}

void TensorImpl::share_version(const TensorImpl* from) {
    if (from->own_version) from->own_version->retain();
    if (own_version) let_go(own_version);
    own_version = from->own_version;
    version = from->version;
}

void TensorImpl::set_shape(IntList sizes) { set_shape(sizes, contiguous_strides(sizes)); }

static bool channels_last_contiguous(const int64_t* sizes, const int64_t* strides, int n) {
    int64_t expected = 1;
    for (int i = 0; i < n; i++) {
        int d = i == 0 ? 1 : i == n - 1 ? 0 : n - i;
        if (sizes[d] != 1) {
            if (strides[d] != expected) return false;
            expected *= sizes[d];
        }
    }
    return true;
}

void TensorImpl::refresh() {
    const int64_t *size = shape, *stride = shape + ndim;
    int64_t count = 1;
    bool plain = true, overflow = false;
    for (int i = ndim; i-- > 0;) {
        if (size[i] != 1) {
            plain &= stride[i] == count;
            overflow |= __builtin_mul_overflow(count, size[i], &count);
        }
    }
    if (overflow || (count == 0 && ndim > 2)) [[unlikely]] {
        Sizes asked(IntList(size, ndim));
        for (int i = 0; i < ndim; i++) shape[i] = 0; // should the count be refused, the header is still in order
        count = numel = 0;
        checked_numel(asked);
        for (int i = 0; i < ndim; i++) shape[i] = asked[static_cast<size_t>(i)];
    }
    numel = count;
    contiguous = plain || count == 0;
    channels_last = ndim == 4 && channels_last_contiguous(size, stride, 4);
    channels_last_3d = ndim == 5 && channels_last_contiguous(size, stride, 5);
    if (contiguous || channels_last || channels_last_3d) {
        non_overlapping_dense = true;
        return;
    }
    // Dense in some order of dimensions: walk from the smallest stride outwards.
    uint64_t done = 0;
    int64_t expected = 1;
    bool dense = true;
    for (int step = 0; step < ndim && dense; step++) {
        int best = -1;
        for (int i = 0; i < ndim; i++)
            if (!(done >> i & 1) && size[i] != 1 && (best < 0 || stride[i] < stride[best])) best = i;
        if (best < 0) break;
        dense = stride[best] == expected;
        expected *= size[best];
        done |= uint64_t{1} << best;
    }
    non_overlapping_dense = dense;
}

} // namespace kindling
