// autograd/meta.cpp: a tensor's place in the graph, and what in-place writes do to it.
// Compiled for size.
#include "autograd/meta.h"

#include "autograd/copy_slices.h"
#include "autograd/forward.h"
#include "autograd/ops.h"
#include "core/shape.h"

namespace kindling {

AutogradMeta& need_meta(TensorImpl* impl) {
    if (!impl->autograd) {
        impl->autograd = new AutogradMeta;
        impl->autograd->owner = impl;
    }
    return *impl->autograd;
}

static constinit SpinLock left_lock; // of all `left_at`

static void erase_retain(GradNode& node, AutogradMeta* meta) {
    if (!node.hooks) return;
    SpinGuard guard(node.lock);
    auto& retains = node.hooks->retains;
    for (size_t i = retains.size(); i-- > 0;)
        if (retains[i].meta == meta) retains.erase(retains.begin() + static_cast<std::ptrdiff_t>(i));
}

static void forget_retain(AutogradMeta* meta) {
    Ref<GradNode> node = meta->retained_at ? std::move(meta->retained_at) : meta->grad_fn;
    if (node) erase_retain(*node, meta);
    SpinGuard guard(left_lock);
    if (meta->left_at) erase_retain(*meta->left_at, meta);
    meta->left_at = nullptr;
}

void forget_left(const NodeHooks& hooks) {
    SpinGuard guard(left_lock);
    for (auto& each : hooks.retains) each.meta->left_at = nullptr;
}

void destroy(AutogradMeta* meta) {
    if (meta->retains_grad) forget_retain(meta);
    if (meta->python_hooks) release_python_object(meta->python_hooks);
    if (meta->python_accumulated) release_python_object(meta->python_accumulated);
    delete meta;
}

void forget_accumulator(AutogradMeta* meta) {
    SpinGuard guard(meta->lock);
    meta->accumulator = nullptr;
}

bool is_leaf(TensorImpl* impl) { return !grad_fn(impl); }

/// is_leaf without bringing a view up to date, where torch does not either.
static bool never_recorded(const TensorImpl* impl) { return !impl->autograd || !impl->autograd->grad_fn; }

[[noreturn, gnu::cold]] static void fail_view_written(TensorImpl* impl, bool indirectly);

Ref<GradNode> grad_fn(TensorImpl* impl) {
    TensorImpl* base = impl->base;
    if (!base) return impl->autograd ? impl->autograd->grad_fn : Ref<GradNode>();
    if (!(base->key & key::Autograd) && !(impl->autograd && impl->autograd->grad_fn)) return {};
    uint32_t now = impl->version->load();
    if (impl->view_version != now) {
        // Something was written since: this view is what a view of the base is now.
        if (impl->creation != Creation::Default) fail_view_written(impl, true);
        AutogradMeta& meta = need_meta(impl);
        Ref<GradNode> node;
        {
            // This is no part of a backward pass that it may happen in, and must not lead back to that one's node.
            struct Apart {
                GradNode* running = autograd_thread.running;
                Apart() { autograd_thread.running = nullptr; }
                ~Apart() { autograd_thread.running = running; }
            } apart;
            node = replay_node(impl, base);
        }
        if (meta.retains_grad) {
            forget_retain(&meta);
            if (node) node->need_hooks().retains.push_back({&meta, 0});
        }
        SpinGuard guard(meta.lock);
        if (impl->view_version != now) {
            std::swap(meta.grad_fn, node); // the old one goes when the lock is open again: that may run anything
            meta.output = 0;
            impl->view_version = now;
            if (meta.grad_fn) impl->key |= key::Autograd;
        }
    }
    return impl->autograd ? impl->autograd->grad_fn : Ref<GradNode>();
}

Ref<GradNode> grad_accumulator(TensorImpl* impl) {
    if (!impl->requires_grad) return {}; // a view that nobody recorded has nowhere to send its gradient, whatever its base is
    AutogradMeta& meta = need_meta(impl);
    if (meta.stands_for) return meta.stands_for;
    {
        SpinGuard guard(meta.lock);
        if (meta.accumulator) return Ref<GradNode>::share(meta.accumulator);
    }
    auto fresh = Ref<GradNode>::adopt(new AccumulateGrad(Tensor::share(impl)));
    SpinGuard guard(meta.lock);
    if (meta.accumulator) return Ref<GradNode>::share(meta.accumulator);
    meta.accumulator = fresh.get();
    return fresh;
}

Edge gradient_edge(TensorImpl* impl) {
    if (Ref<GradNode> node = grad_fn(impl)) return {std::move(node), impl->autograd->output};
    return {grad_accumulator(impl), 0};
}

void set_gradient_edge(TensorImpl* impl, Edge edge, bool retaining) {
    AutogradMeta& meta = need_meta(impl);
    if (meta.retains_grad && meta.grad_fn && retaining) {
        if (!meta.retained_at) meta.retained_at = meta.grad_fn;
    } else if (meta.retains_grad && meta.grad_fn) {
        forget_retain(&meta);
        edge.node->need_hooks().retains.push_back({&meta, edge.input});
    }
    if (edge.node && edge.node->kind == GradNode::Kind::Accumulate) {
        meta.stands_for = std::move(edge.node);
        impl->requires_grad = true;
        impl->key |= key::Autograd;
        return;
    }
    meta.output = edge.input;
    Ref<GradNode> old;
    {
        SpinGuard guard(meta.lock);
        old = std::move(meta.grad_fn);
        meta.grad_fn = std::move(edge.node);
    }
    if (meta.grad_fn) impl->key |= key::Autograd;
    if (impl->base) impl->view_version = impl->version->load();
}

void set_history(TensorImpl* impl, GradNode* node) {
    if (!is_differentiable(impl->dtype)) {
        node->inputs.emplace_back();
        return;
    }
    AutogradMeta& meta = need_meta(impl);
    meta.output = node->add_input(*impl);
    meta.grad_fn = Ref<GradNode>::share(node);
    impl->key |= key::Autograd;
}

void rebase_history(TensorImpl* impl, Ref<GradNode> node) {
    uint32_t output = node->add_input(*impl);
    if (!impl->base) return set_gradient_edge(impl, {std::move(node), output});
    TensorImpl* base = impl->base;
    // The node of a write to a view works on that part of the base's gradient; the view itself is a view of the new base.
    auto slices = Ref<CopySlices>::adopt(new CopySlices(base, impl, std::move(node)));
    slices->add_input(*base);
    set_gradient_edge(base, {Ref<GradNode>::share(slices.get()), 0});
    impl->view_version = impl->version->load() - 1;
    if (Ref<GradNode> fresh = grad_fn(impl)) slices->remember_view(fresh.get());
}

/// `indirectly`: not the view itself was written to, but its base or another view of it.
static void fail_view_written(TensorImpl* impl, bool indirectly) {
    const char* is = indirectly ? "its base or another view of its base has been" : "is being";
    GradNode* node = impl->autograd ? impl->autograd->grad_fn.get() : nullptr;
    Creation creation = impl->creation;
    std::string text;
    if (creation == Creation::Inference || creation == Creation::NoGrad || !node) { // without a node no gradient was recorded
        std::string prefix =
            node ? format("Output %u of %s is a view of a view which was created in", impl->autograd->output, short_name(*node).c_str())
                 : std::string("A view was created in");
        bool inference = creation == Creation::Inference;
        text = prefix + format(" %s mode and %s modified inplace %s.", inference ? "inference" : "no_grad", is,
                               inference ? "in normal mode" : "with grad mode enabled");
    } else {
        text = format("Output %u of %s is a view and %s modified inplace.", impl->autograd->output, short_name(*node).c_str(), is);
    }
    switch (creation) {
    case Creation::MultiOutput:
        text += " This view is the output of a function that returns multiple views. Such functions do not allow the output "
                "views to be modified inplace. You should replace the inplace operation by an out-of-place one.";
        break;
    case Creation::NoGrad:
    case Creation::Inference:
        text += format(" Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
                       "moving both the view and the inplace either both inside the %s block (if you don't want the inplace "
                       "to be tracked) or both outside (if you want the inplace to be tracked).",
                       creation == Creation::NoGrad ? "no_grad" : "inference_mode");
        break;
    default:
        text += " This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
                "logic to handle view+inplace would override the custom backward associated with the custom Function, "
                "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the "
                "custom Function.";
    }
    throw Error(ErrorKind::Runtime, std::move(text));
}

void check_inplace(TensorImpl* impl, bool any_requires_grad) {
    if (!any_requires_grad || !thread_state.grad_mode) return;
    if (impl->base) {
        if (impl->creation != Creation::Default) fail_view_written(impl, false);
        if (requires_grad(impl) && never_recorded(impl->base))
            fail(ErrorKind::Runtime, "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    }
    if (requires_grad(impl) && never_recorded(impl))
        fail(ErrorKind::Runtime, "a leaf Variable that requires grad is being used in an in-place operation.");
}

Tensor detached(const Tensor& tensor, bool own_version) {
    TensorImpl* from = tensor.impl();
    auto impl = Ref<TensorImpl>::adopt(new TensorImpl);
    impl->dtype = from->dtype;
    impl->layout = from->layout;
    impl->set_shape(tensor.sizes(), tensor.strides());
    impl->key = from->key & ~static_cast<uint32_t>(key::Autograd | key::Function | key::Dispatch | key::Dual);
    impl->device = from->device;
    impl->inference = from->inference;
    impl->offset = from->offset;
    impl->wrapped_number = from->wrapped_number;
    if (from->storage) from->storage->retain();
    impl->storage = from->storage;
    if (own_version) impl->start_version(0);
    else if (from->uncounted && !from->inference) fail_uncounted();
    else impl->share_version(from);
    count_detached(impl.get(), from);
    return Tensor(std::move(impl));
}

[[gnu::cold]] void detach_in_place(const Tensor& tensor) {
    TensorImpl* impl = tensor.impl();
    KINDLING_CHECK(Runtime, !impl->base,
                   "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                   "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                   "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                   "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.");
    impl->key &= ~static_cast<uint32_t>(key::Autograd | key::Dual);
    impl->requires_grad = false;
    if (!impl->autograd) return;
    AutogradMeta& meta = *impl->autograd;
    meta.tangents = nullptr;
    // It still retains what reaches its old node, as torch's does, for as long as others keep that.
    Ref<GradNode> kept = meta.retained_at ? std::move(meta.retained_at) : meta.grad_fn;
    if (meta.retains_grad && kept) {
        SpinGuard guard(left_lock);
        meta.left_at = kept.get();
    }
    meta.grad_fn = nullptr;
    meta.output = 0;
}

[[gnu::cold]] void set_data(const Tensor& tensor, const Tensor& value) {
    TensorImpl *to = tensor.impl(), *from = value.impl();
    if (to == from) return;
    auto kind = [](Layout layout) { return layout > Layout::Sparse && layout < Layout::Jagged ? Layout::SparseCsr : layout; };
    KINDLING_CHECK(Runtime, kind(to->layout) == kind(from->layout) && !((to->key ^ from->key) & key::Wrapped),
                   "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.");
    KINDLING_CHECK(Runtime, !kindling::requires_grad(to) || is_differentiable(from->dtype),
                   "data set to a tensor that requires gradients must be floating point or complex dtype");
    if (to->autograd && to->autograd->accumulator && (to->dtype != from->dtype || !(tensor.sizes() == value.sizes()))) {
        // What the leaf's gradient must look like changes with it: the next graph gets an accumulator of its own.
        forget_accumulator(to->autograd);
    }
    // The counter goes on from where it is, together with that of views: values saved before stay told apart from what comes.
    to->keep_version();
    Storage* old = to->storage;
    if (from->storage) from->storage->retain();
    to->dtype = from->dtype;
    to->layout = from->layout;
    to->device = from->device;
    to->offset = from->offset;
    to->inference = from->inference;
    constexpr uint32_t kept = key::Autograd | key::Dispatch | key::Function | key::Dual;
    to->key = (to->key & kept) | (from->key & ~kept);
    to->set_shape(value.sizes(), value.strides());
    to->storage = from->storage;
    if (old) release(old);
}

void set_requires_grad(const Tensor& tensor, bool value) {
    TensorImpl* impl = tensor.impl();
    if (!value && requires_grad(impl) && !never_recorded(impl))
        fail(ErrorKind::Runtime, "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                                 "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    if (value) {
        KINDLING_CHECK(Runtime, is_differentiable(impl->dtype), "Only Tensors of floating point and complex dtype can require gradients");
        KINDLING_CHECK(Runtime, !impl->inference || thread_state.inference_mode,
                       "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    }
    if (!never_recorded(impl)) return;
    impl->requires_grad = value;
    if (value) {
        need_meta(impl);
        impl->key |= key::Autograd;
    } else {
        impl->key &= ~static_cast<uint32_t>(key::Autograd);
    }
}

[[gnu::cold]] void retain_grad(const Tensor& tensor) {
    TensorImpl* impl = tensor.impl();
    KINDLING_CHECK(Runtime, requires_grad(impl), "can't retain_grad on Tensor that has requires_grad=False");
    if (never_recorded(impl)) return; // as torch: also of a view that was never asked for its history
    if (is_leaf(impl) || impl->autograd->retains_grad) return;
    AutogradMeta& meta = *impl->autograd;
    meta.retains_grad = true;
    SpinGuard guard(meta.grad_fn->lock);
    meta.grad_fn->need_hooks().retains.push_back({&meta, meta.output});
}

[[gnu::cold]] Ref<GradHook> add_tensor_hook(const Tensor& tensor, Ref<GradHook> hook) {
    TensorImpl* impl = tensor.impl();
    KINDLING_CHECK(Runtime, requires_grad(impl), "cannot register a hook on a tensor that doesn't require gradient");
    if (Ref<GradNode> node = grad_fn(impl)) {
        uint32_t output = impl->autograd->output;
        SpinGuard guard(node->lock);
        node->need_hooks().tensor_hooks.push_back({hook, output});
    } else {
        AutogradMeta& meta = need_meta(impl);
        SpinGuard guard(meta.lock);
        meta.hooks.push_back(hook);
    }
    return hook;
}

struct Tensor::GradHookOf final : GradHook {
    explicit GradHookOf(Hook* given) : hook(given) {}
    ~GradHookOf() override { delete hook; }
    Tensor on_tensor(const Tensor& gradient) override { return gradient.defined() ? hook->call(gradient) : Tensor(); }
    Hook* hook;
};

unsigned Tensor::add_hook(Hook* hook) const {
    static constinit std::atomic<unsigned> last{0};
    auto made = Ref<GradHook>::adopt(new GradHookOf(hook));
    unsigned number = made->number = ++last;
    add_tensor_hook(*this, std::move(made));
    return number;
}

[[gnu::cold]] void Tensor::remove_hook(unsigned number) const {
    TensorImpl* tensor = impl();
    if (!number || !tensor->autograd) return;
    // What is taken out dies after the lock is given back: it may hold anything.
    Ref<GradHook> out;
    auto take = [&](auto& list, auto hook_of) {
        for (size_t i = 0; i < list.size(); i++)
            if (hook_of(list[i])->number == number) {
                out = hook_of(list[i]);
                list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
                return;
            }
    };
    if (Ref<GradNode> node = grad_fn(tensor)) {
        SpinGuard guard(node->lock);
        if (node->hooks) take(node->hooks->tensor_hooks, [](auto& each) { return each.hook; });
    } else {
        SpinGuard guard(tensor->autograd->lock);
        take(tensor->autograd->hooks, [](auto& each) { return each; });
    }
}

void Tensor::retain_grad() const { kindling::retain_grad(*this); }
bool Tensor::retains_grad() const { return impl()->autograd && impl()->autograd->retains_grad; }

Tensor base_of(const Tensor& tensor) { return tensor.impl()->base ? Tensor::share(tensor.impl()->base) : Tensor(); }

/// The name of a dtype's C++ type, which torch's text has here.
[[gnu::cold]] static const char* type_name(DType dtype) {
    switch (dtype) {
    case DType::UInt8: return "unsigned char";
    case DType::Int8: return "signed char";
    case DType::Int16: return "short";
    case DType::Int32: return "int";
    case DType::Int64: return "long";
    case DType::Float16: return "c10::Half";
    case DType::BFloat16: return "c10::BFloat16";
    case DType::Float32: return "float";
    case DType::Float64: return "double";
    case DType::Complex64: return "c10::complex<float>";
    case DType::Complex128: return "c10::complex<double>";
    case DType::Bool: return "bool";
    default: return scalar_type_name(dtype);
    }
}

[[gnu::cold]] void check_grad(const TensorImpl* impl, const Tensor& grad) {
    KINDLING_CHECK(Runtime, grad.impl() != impl, "can't assign Variable as its own grad");
    const AutogradMeta* meta = impl->autograd;
    DType wanted = meta && meta->grad_dtype_set ? meta->grad_dtype : impl->dtype;
    KINDLING_CHECK(Runtime, wanted == DType::None || wanted == grad.dtype(),
                   "attempting to assign a gradient with dtype '%s' to a tensor with grad_dtype '%s'. The gradient must match the "
                   "tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a "
                   "specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor "
                   "and its gradient may break downstream systems that assume they match.",
                   type_name(grad.dtype()), scalar_type_name(wanted));
    KINDLING_CHECK(Runtime, grad.device().type == impl->device.type,
                   "attempting to assign a gradient with device type '%s' to a tensor with device type '%s'. Please ensure that "
                   "the gradient and the tensor are on the same device",
                   name(grad.device().type), name(impl->device.type));
    KINDLING_CHECK(Runtime, grad.sizes() == impl->sizes(),
                   "attempting to assign a gradient of size '%s' to a tensor of size '%s'. Please ensure that the gradient and "
                   "the tensor are the same size",
                   str(grad.sizes()).c_str(), str(impl->sizes()).c_str());
}

// ---- Tensor's own members

Tensor Tensor::grad() const { return impl_->autograd ? impl_->autograd->grad : Tensor(); }

void Tensor::set_grad(const Tensor& grad) const {
    if (grad.defined()) check_grad(impl_.get(), grad);
    else if (!impl_->autograd) return;
    AutogradMeta& meta = need_meta(impl_.get());
    Tensor old;
    SpinGuard guard(meta.lock);
    old = std::move(meta.grad);
    meta.grad = grad;
}

const Tensor& Tensor::requires_grad_(bool value) const {
    set_requires_grad(*this, value);
    return *this;
}
bool Tensor::is_leaf() const { return kindling::is_leaf(impl_.get()); }

} // namespace kindling
