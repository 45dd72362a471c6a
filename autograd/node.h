// autograd/node.h: one recorded operation: edges to what it came from, what it needs to go backward, its hooks.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "autograd/few.h"
#include "core/dispatch.h"
#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace kindling {

struct GradNode;
struct AutogradMeta;
void release(GradNode* node);

/// Held for a few instructions only; never while anything else runs.
class SpinLock {
public:
    void lock();
    void unlock() { taken_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> taken_{false};
};
class SpinGuard {
public:
    explicit SpinGuard(SpinLock& lock) : lock_(lock) { lock_.lock(); }
    ~SpinGuard() { lock_.unlock(); }
    SpinGuard(const SpinGuard&) = delete;

private:
    SpinLock& lock_;
};

/// Where a gradient goes next: the `input`-th gradient that `node` takes in, which is its operation's `input`-th result.
struct Edge {
    Ref<GradNode> node;
    uint32_t input = 0;
    explicit operator bool() const { return static_cast<bool>(node); }
};

/// What a gradient must look like to be taken in; the engine sums and casts it so.
struct InputMeta {
    SmallVector<int64_t, 4> sizes;
    DType dtype = DType::None; // None: this result takes no gradient
    Device device;
    bool subclass = false;
    InputMeta() = default;
    explicit InputMeta(const TensorImpl& tensor);
};

/// A function of gradients, from outside (bindings wrap Python callables into these).
struct GradHook : RefCounted {
    virtual ~GradHook() = default;
    /// Hooks of tensors: one gradient in, what replaces it out (undefined: leave it).
    virtual Tensor on_tensor(const Tensor&) { return {}; }
    /// Hooks of nodes before they run: may replace `gradients`.
    virtual void before(Tensor*, size_t) {}
    /// Hooks of nodes after they ran: may replace `results`, what the node gave.
    virtual void after(Tensor*, size_t, const Tensor*, size_t) {}
    /// The Python object, for garbage collection and introspection; null for C++ hooks.
    virtual void* python() { return nullptr; }
    unsigned number = 0; // of hooks registered from C++, for taking them back
};
inline void release(GradHook* hook) {
    if (hook->drop()) delete hook;
}

struct NodeHooks {
    struct OfTensor {
        Ref<GradHook> hook;
        uint32_t input;
    };
    struct Retain {
        AutogradMeta* meta;
        uint32_t input;
    }; // `retain_grad` of a result that still lives
    std::vector<OfTensor> tensor_hooks;
    std::vector<Retain> retains;
    std::vector<Ref<GradHook>> before, after;
    Ref<GradNode> weak_holder; // the CopySlices that points at this node without keeping it
};

struct CopySlices;

/// What the engine hands a node.
struct Backward {
    Tensor* gradients; // may be changed and moved from
    size_t gradient_count;
    Tensor* results;              // one per edge, undefined at first
    const bool* needed = nullptr; // per edge; null: all edges that lead anywhere
    bool keep_graph = false;
    bool differentiable = false;        // create_graph: what is computed here is recorded
    const CopySlices* slices = nullptr; // of a node that wrote to a view: the history of the base, which calls it
};

struct GradNode : RefCounted {
    enum class Kind : uint8_t { Operation, Accumulate, CopySlices, Python, Other };

    Few<Edge, 2> edges;
    Few<InputMeta, 1> inputs;
    uint64_t sequence;
    std::unique_ptr<NodeHooks> hooks;
    void* python = nullptr;       // the Python object of this node, borrowed (Kind::Python: owned through `own_python`)
    void* metadata = nullptr;     // a Python dict, owned; anomaly mode keeps the forward traceback there
    Ref<GradNode> anomaly_parent; // the node whose backward made this one
    Kind kind = Kind::Operation;
    bool deferred = false;    // made while loops were put off: its backward pass puts them off, too
    bool weakly_held = false; // `hooks->weak_holder` is there
    mutable SpinLock lock;
    // The engine's: which entry of the running task this node is.
    uint64_t engine_task = 0;
    uint32_t engine_slot = 0;
    GradNode* next_released = nullptr;

    explicit GradNode(Kind kind);
    GradNode(const GradNode&) = delete;
    virtual ~GradNode();
    /// "AddBackward0".
    virtual const char* name() const = 0;
    virtual void apply(Backward& backward) = 0;
    /// Lets go of saved values; a second backward raises torch's error.
    virtual void release_saved() {}

    /// Whether there is anything to compute from these gradients: of none comes none, but a Python function is asked.
    bool computes(const Tensor* gradients, size_t count) const {
        bool any = kind == Kind::Python;
        for (size_t i = 0; i < count && !any; i++) any = gradients[i].defined();
        return any;
    }
    bool leads(size_t edge) const { return static_cast<bool>(edges[edge].node); }
    NodeHooks& need_hooks() {
        if (!hooks) hooks = std::make_unique<NodeHooks>();
        return *hooks;
    }
    /// Adds a result this node takes a gradient for; gives its number.
    uint32_t add_input(const TensorImpl& tensor) {
        inputs.emplace_back(tensor);
        return static_cast<uint32_t>(inputs.size() - 1);
    }
};

/// Frees a Python dict or object a node owns; set by bindings.
extern void (*release_python_object)(void* object);
/// Called for every node made while anomaly mode is on; set by bindings.
extern void (*on_anomaly_node)(GradNode* node);
/// Called when a node raised in anomaly mode, before the error goes on; set by bindings.
extern void (*on_anomaly_error)(GradNode* node);

/// What a thread knows about the tape.
struct AutogradThread {
    uint64_t sequence = 0;
    GradNode* released = nullptr; // nodes waiting to be deleted
    bool releasing = false;
    int saved_hooks = 0; // saved_tensors_hooks in force
    const char* saved_hooks_disabled = nullptr;
    GradNode* running = nullptr; // the node whose backward runs
    struct GraphTask* task = nullptr;
    int depth = 0; // of re-entrant backward calls
};
extern constinit thread_local AutogradThread autograd_thread __attribute__((tls_model("initial-exec")));

/// Adds up a leaf's gradient: the last node of a path.
struct AccumulateGrad final : GradNode {
    Tensor variable;
    std::mutex busy; // held while a gradient is added, which several threads may do
    explicit AccumulateGrad(Tensor variable);
    const char* name() const override { return "torch::autograd::AccumulateGrad"; }
    void apply(Backward& backward) override;
};

/// torch's name of the node an operator makes: "MulBackward0". Lives for ever.
const char* node_name(const Operator& op);
/// The name as torch's messages print it, without "Backward" and a 0.
std::string short_name(const GradNode& node);

} // namespace kindling
#pragma GCC visibility pop
