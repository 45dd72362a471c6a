// core/tensor.h: the handle. Operators that are methods are generated into it from their declarations.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/export.h"
#include "core/scalar.h"
#include "core/size.h"
#include "core/tensor_impl.h"

namespace KINDLING_VISIBLE kindling {

class Generator;
class Tensor;
struct Value;
using Text = std::string_view;
using TensorList = Span<Tensor>;

struct TensorOptions {
    DType dtype = DType::None; // None: the default dtype
    std::optional<Device> device;
    bool requires_grad = false;
};

/// RuntimeError: a batched tensor (core/batch.h) has no memory of its own.
[[noreturn, gnu::cold]] void fail_batched();

class Tensor {
public:
    constexpr Tensor() = default;
    explicit Tensor(Ref<TensorImpl> impl) : impl_(static_cast<Ref<TensorImpl>&&>(impl)) {}
    static Tensor share(TensorImpl* impl) { return Tensor(Ref<TensorImpl>::share(impl)); }

    bool defined() const { return static_cast<bool>(impl_); }
    explicit operator bool() const { return defined(); }
    TensorImpl* impl() const { return impl_.get(); }
    TensorImpl* take() { return impl_.take(); }
    bool is_same(const Tensor& other) const { return impl() == other.impl(); }
    void reset() { impl_ = nullptr; }

    int64_t dim() const { return impl_->ndim; }
    int64_t size(int64_t dim) const; // negative dims wrap; IndexError
    int64_t stride(int64_t dim) const;
    IntList sizes() const { return static_cast<const TensorImpl*>(impl_.get())->sizes(); }
    IntList strides() const { return static_cast<const TensorImpl*>(impl_.get())->strides(); }
    int64_t numel() const { return impl_->numel; }
    int64_t storage_offset() const { return impl_->offset; }
    size_t element_size() const { return item_size(impl_->dtype); }
    DType dtype() const { return impl_->dtype; }
    Device device() const { return impl_->device; }
    bool is_meta() const { return impl_->is_meta(); }
    bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
    MemoryFormat suggest_memory_format() const;
    bool is_complex() const { return kindling::is_complex(dtype()); }
    bool is_floating_point() const { return is_floating(dtype()); }
    bool is_conj() const { return impl_->key & key::Conj; }
    bool is_neg() const { return impl_->key & key::Neg; }
    bool requires_grad() const { return key_of(impl_.get()) & key::Autograd; }
    Storage* storage() const { return impl_->storage; }
    uint32_t version() const { return impl_->version ? impl_->version->load() : 0; }
    void bump_version() const {
        if (impl_->version) impl_->version->fetch_add(1, std::memory_order_relaxed);
    }
    /// RuntimeError of a batched tensor, which has no memory of its own.
    void* data() const {
        if (impl_->key & key::Wrapped) [[unlikely]]
            fail_batched();
        return impl_->data();
    }
    template <class T> T* data_ptr() const { return static_cast<T*>(data()); }
    TensorOptions options() const { return {dtype(), device(), false}; }

    template <class T> T item() const { return item_scalar().to<T>(); }
    Scalar item_scalar() const; // RuntimeError unless there is exactly one element

    // Autograd (autograd/ implements these).
    Tensor grad() const;
    void set_grad(const Tensor& grad) const;
    const Tensor& requires_grad_(bool value = true) const;
    void backward(const Tensor& gradient = {}, bool retain_graph = false, bool create_graph = false) const;
    bool is_leaf() const;
    /// Keeps the gradient of a result too, for grad().
    void retain_grad() const;
    bool retains_grad() const;
    /// Calls `hook(gradient)` whenever this tensor's gradient is known; a Tensor that it returns replaces the gradient.
    /// The number is for remove_hook. RuntimeError unless the tensor requires grad.
    template <class F> unsigned register_hook(F hook) const { return add_hook(new MadeHook<F>(std::move(hook))); }
    void remove_hook(unsigned number) const;

    Tensor operator-() const;
    const Tensor& operator+=(const Tensor& other) const;
    const Tensor& operator-=(const Tensor& other) const;
    const Tensor& operator*=(const Tensor& other) const;
    const Tensor& operator/=(const Tensor& other) const;
    const Tensor& operator+=(const Scalar& other) const;
    const Tensor& operator-=(const Scalar& other) const;
    const Tensor& operator*=(const Scalar& other) const;
    const Tensor& operator/=(const Scalar& other) const;
    Tensor operator[](int64_t index) const;

#ifndef KINDLING_NO_GENERATED
#include "generated/tensor_methods.inc"
#endif

private:
    struct Hook {
        virtual ~Hook() = default;
        virtual Tensor call(const Tensor& gradient) = 0;
    };
    template <class F> struct MadeHook final : Hook {
        explicit MadeHook(F made) : function(std::move(made)) {}
        Tensor call(const Tensor& gradient) override {
            if constexpr (requires { Tensor(function(gradient)); }) return function(gradient);
            else {
                function(gradient);
                return {};
            }
        }
        F function;
    };
    struct GradHookOf;
    unsigned add_hook(Hook* hook) const; // takes it over

    Ref<TensorImpl> impl_;
};
static_assert(sizeof(Tensor) == sizeof(void*), "a TensorList is an array of header pointers");

/// A fresh header over fresh memory; the ground all kernels allocate their results from.
Tensor make_tensor(IntList sizes, DType dtype, Device device = {});
Tensor make_tensor(IntList sizes, IntList strides, DType dtype, Device device = {});
/// A header that looks into `source`'s storage; a differentiable view of it (it keeps `base`), sharing its version.
[[noreturn]] void fail_uncounted();
/// Of a fresh header apart from the graph for what `from` looks into: of an inference tensor, outside of inference_mode, it counts
/// its own writes, and may be written to.
void count_detached(TensorImpl* impl, const TensorImpl* from);
Tensor make_view(const Tensor& source, IntList sizes, IntList strides, int64_t offset);
Tensor make_view(const Tensor& source, IntList sizes, IntList strides, int64_t offset, DType dtype);
/// Makes `impl`, a fresh header, a differentiable view of what `from` looks into.
void tie_view(TensorImpl* impl, TensorImpl* from);
/// The same header as no view of anything: what operators give that make their result by way of a view of fresh memory.
Tensor untied(Tensor view);
/// Over memory given from outside.
Tensor make_tensor(Ref<Storage> storage, int64_t offset, IntList sizes, IntList strides, DType dtype);
/// Gives `out` this size, growing its storage (the warning about non-empty out= is the caller's).
void resize_tensor(const Tensor& out, IntList sizes, IntList strides);
DType default_dtype();
void set_default_dtype(DType dtype);
/// What an optional dtype argument comes to where nothing else decides.
inline DType or_default(DType dtype) { return dtype == DType::None ? default_dtype() : dtype; }
/// RuntimeError where a tensor's elements have no memory: of a storage that was resized to nothing, or what a Python subclass
/// wraps.
[[noreturn, gnu::cold]] void fail_without_memory(const TensorImpl* tensor);
inline void need_memory(const TensorImpl* tensor) {
    if (tensor->numel && !tensor->storage->has_memory()) [[unlikely]]
        fail_without_memory(tensor);
}
/// Of a tensor on a plug-in's device: the same values in host memory (core/private.cpp).
Tensor host_copy(const Tensor& tensor);
std::string str(const Tensor& tensor); // "Tensor of float32 [2, 3]", for messages

} // namespace kindling
