// core/tensor_impl.h: the tensor header. Plain data; whoever changes sizes calls `refresh`.
#pragma once
#include "core/dtype.h"
#include "core/error.h"
#include "core/export.h"
#include "core/span.h"
#include "core/storage.h"

namespace KINDLING_VISIBLE kindling {

/// One bit per reason why a call may not go straight to the kernel. A call ORs its arguments' words.
namespace key {
enum : uint32_t {
    Autograd = 1u << 0, // requires grad (a leaf that does, or has a grad_fn)
    Dispatch = 1u << 1, // a Python subclass with __torch_dispatch__
    Mode = 1u << 2,     // thread only: a TorchDispatchMode is active
    Conj = 1u << 3,     // lazily conjugated
    Neg = 1u << 4,      // lazily negated
    Meta = 1u << 5,
    Layout = 1u << 6,    // not strided
    Private = 1u << 7,   // a plug-in device
    Deferred = 1u << 8,  // thread only: loops are put off (graph/pending.h)
    Wrapped = 1u << 9,   // a batched tensor (core/batch.h); of a thread: vmap runs
    Autocast = 1u << 10, // thread only
    Profile = 1u << 11,  // thread only: a profiler writes down what is called
    Made = 1u << 12,     // thread only: see MadeOn
    Float8 = 1u << 13,   // of a dtype that few operators have kernels of
    Dual = 1u << 14,     // it has tangents (autograd/forward.h)
    Trace = 1u << 15,    // thread only: calls are written down as a graph (script/trace/trace.h)
    Function = 1u << 16, // Python only: a subclass with its own __torch_function__
};
/// What is worked off when the elements are read.
inline constexpr uint32_t lazy = Conj | Neg;
/// What makes a kernel call leave the straight path. Kernels of meta tensors stop after allocating.
inline constexpr uint32_t slow = Meta | Autograd | Dispatch | Mode | Conj | Neg | Layout | Private | Deferred | Wrapped | Autocast |
                                 Profile | Made | Float8 | Dual | Trace;
/// What looks at a call, or has it run otherwise. Loops that are put off are the same loops.
inline constexpr uint32_t watching = slow & ~uint32_t{Deferred};
} // namespace key

enum class Layout : uint8_t { Strided, Sparse, SparseCsr, SparseCsc, SparseBsr, SparseBsc, Jagged, Mkldnn };
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

struct AutogradMeta; // autograd/meta.h
void destroy(AutogradMeta* meta);
/// The next graph of a leaf gets a node of its own to add up gradients: it has another storage now.
void forget_accumulator(AutogradMeta* meta);

/// Under which circumstances a view was made; some of them forbid writing to it in place (autograd/meta.h).
enum class Creation : uint8_t { Default, CustomFunction, MultiOutput, NoGrad, Inference };

inline constexpr int max_dims = 64;

/// Counts in-place writes to a tensor that does not share its storage's count (`.data`), or that shares the one of a storage
/// that it no longer looks into (`x.data = y`).
struct VersionCounter : RefCounted {
    std::atomic<uint32_t> value{0};
    Storage* of = nullptr;
};

/// The innermost open transform that differentiates (GradLevel, core/batch.h) of this thread, by its id; 0: none is open.
extern constinit thread_local uint32_t open_grad __attribute__((tls_model("initial-exec")));

struct TensorImpl : RefCounted {
    static constexpr int inline_dims = 5;

    uint32_t key = 0;
    DType dtype = DType::Float32;
    Layout layout = Layout::Strided;
    Device device;
    uint8_t ndim = 0;
    bool contiguous : 1 = true; // torch's is_contiguous(), channels_last and channels_last_3d
    bool channels_last : 1 = false;
    bool channels_last_3d : 1 = false;
    bool non_overlapping_dense : 1 = true;
    bool wrapped_number : 1 = false;           // a 0-d tensor made of a Python number: weak in promotion
    bool inference : 1 = false;                // made under inference_mode
    bool uncounted : 1 = false;                // writes are not counted, so none are allowed outside of inference_mode
    bool owns_python : 1 = false;              // the Python object lives only through this header
    bool requires_grad : 1 = false;            // as set by the user: leaves only
    bool is_view : 1 = false;                  // a differentiable view: `base` is set
    Creation creation : 3 = Creation::Default; // of views
    Storage* storage = nullptr;                // owned
    int64_t offset = 0;                        // in elements
    int64_t numel = 1;
    int64_t* shape = inline_;                 // sizes, then strides
    TensorImpl* base = nullptr;               // owned; of a differentiable view: the root it looks into
    AutogradMeta* autograd = nullptr;         // owned
    std::atomic<uint32_t>* version = nullptr; // the storage's, or (after .data) of own_version
    VersionCounter* own_version = nullptr;    // owned, shared with views and detached tensors
    uint32_t view_version = 0;                // of views: the version at which their history was last right
    uint32_t born = open_grad;                // the transform that was open when it was made
    void* python = nullptr;                   // the Python object, if there is one
    int64_t inline_[2 * inline_dims];

    TensorImpl() = default;
    TensorImpl(const TensorImpl&) = delete;
    ~TensorImpl();

    int64_t* sizes() { return shape; }
    int64_t* strides() { return shape + ndim; }
    IntList sizes() const { return {shape, ndim}; }
    IntList strides() const { return {shape + ndim, ndim}; }
    /// Of an empty tensor nobody reads, and its offset may be anything: hence no pointer arithmetic.
    void* data() const {
        return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(storage->data()) + static_cast<uint64_t>(offset) * item_size(dtype));
    }
    bool is_meta() const { return device.type == DeviceType::Meta; }

    /// Sets sizes and strides, then everything derived from them.
    void set_shape(IntList sizes, IntList strides);
    /// Contiguous strides.
    void set_shape(IntList sizes);
    void refresh();
    /// A count of its own from now on.
    void start_version(uint32_t value);
    /// Goes on counting together with its views and bases, though another storage takes the place of the present one.
    void keep_version();
    /// Counts together with `from`, whose memory this header looks into.
    void share_version(const TensorImpl* from);
};
void release(TensorImpl* impl);

/// A tensor's key word. A view requires grad, or has a tangent, as soon as what it looks into does, also when that changes later.
inline uint32_t key_of(const TensorImpl* impl) {
    return impl->base ? impl->key | (impl->base->key & (key::Autograd | key::Dual)) : impl->key;
}

/// Called by `release` when the last reference goes and the Python object lives through the header. Set by bindings.
extern void (*release_python)(TensorImpl* impl);

} // namespace kindling
