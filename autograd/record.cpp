// autograd/record.cpp: what a call does when one of its arguments requires grad.
#include "autograd/meta.h"
#include "autograd/ops.h"
#include "autograd/plan.h"
#include "core/batch.h"
#include "core/schema.h"
#include "core/shape.h"
#include "operators/forms.h"

namespace kindling {

namespace {

bool any_requires_grad(const Operator& op, const Value* arguments) {
    return any_tensor(op, arguments, [](const TensorImpl* tensor) { return requires_grad(tensor); });
}

bool requires_grad(const Value& v) {
    if (v.is_tensor()) return requires_grad(v.tensor);
    if (v.tag != Value::Tag::TensorList) return false;
    for (uint32_t j = 0; j < v.size; j++)
        if (v.tensors[j].defined() && requires_grad(v.tensors[j].impl())) return true;
    return false;
}

/// An argument that requires grad but has no derivative would silently get none.
void check_targets(const OperatorPlan& plan, const Operator& op, const Value* arguments) {
    auto check = [&](int at) {
        if (requires_grad(arguments[at]) && !plan.is_target(at))
            fail(ErrorKind::Runtime,
                 "The function '%s' is not differentiable with respect to argument '%s'. This input cannot have "
                 "requires_grad True.",
                 op.name(), op.schema->arguments[static_cast<size_t>(at)].name);
    };
    for (int i = 0; i < op.tensor_count; i++) check(op.tensor_positions[i]);
    for (int i = 0; i < op.list_count; i++) check(op.list_positions[i]);
}

bool any_target_requires_grad(const OperatorPlan& plan, const Value* arguments) {
    for (uint8_t target : plan.targets)
        if (requires_grad(arguments[target])) return true;
    return false;
}

/// A node whose operation has no derivative: it only says so.
struct MissingNode final : GradNode {
    std::string text, operation;
    explicit MissingNode(const Operator& op) : GradNode(Kind::Other), text("NotImplemented"), operation(op.name()) {}
    const char* name() const override { return text.c_str(); }
    void apply(Backward&) override {
        bool own = operation.find("::") != std::string::npos;
        fail(ErrorKind::Runtime, "derivative for %s%s is not implemented%s", own || operation == "set_" ? "" : "aten::", operation.c_str(),
             own ? ": no autograd formula was registered for it; torch.library.register_autograd adds one" : "");
    }
};
/// Towards all arguments that require grad, so that whoever asks for one of their gradients gets to hear it.
void lead_back(GradNode& node, const Operator& op, const Value* arguments, int first) {
    for (int i = first; i < op.tensor_count; i++) {
        const Value& v = arguments[op.tensor_positions[i]];
        if (v.is_tensor() && requires_grad(v.tensor)) node.edges.emplace_back(gradient_edge(v.tensor));
    }
}
/// What is written does not depend on what was there: uniform_, and comparisons in place.
struct ForgetNode final : GradNode {
    const char* text;
    explicit ForgetNode(const char* text) : GradNode(Kind::Other), text(text) {}
    const char* name() const override { return text; }
    void apply(Backward&) override {}
};

/// The first edge of an in-place write's node always belongs to the old value, whether it has a derivative or not.
Ref<GradNode> make_rules_node(const OperatorPlan& plan, const Value* arguments, bool inplace) {
    auto* node = new OperatorNode(plan);
    auto ref = Ref<GradNode>::adopt(node);
    if (inplace && !plan.is_target(0)) node->edges.emplace_back(gradient_edge(arguments[0].tensor));
    for (uint8_t target : plan.targets) {
        const Value& v = arguments[target];
        uint32_t first = static_cast<uint32_t>(node->edges.size());
        if (v.is_tensor()) {
            node->edges.emplace_back(requires_grad(v.tensor) ? gradient_edge(v.tensor) : Edge());
        } else if (v.tag == Value::Tag::TensorList) {
            for (uint32_t j = 0; j < v.size; j++)
                node->edges.emplace_back(v.tensors[j].defined() && requires_grad(v.tensors[j].impl()) ? gradient_edge(v.tensors[j].impl())
                                                                                                      : Edge());
        } else {
            node->edges.emplace_back();
        }
        node->targets.push_back({target, first, static_cast<uint32_t>(node->edges.size()) - first});
    }
    return ref;
}

/// Whether a gradient of this argument would go anywhere.
bool leads_on(const Value& v) {
    if (v.is_tensor()) return leads_on(v.tensor);
    if (v.tag != Value::Tag::TensorList) return false;
    for (uint32_t j = 0; j < v.size; j++)
        if (v.tensors[j].defined() && leads_on(v.tensors[j].impl())) return true;
    return false;
}

/// Whether any rule that could run asks for this saved value.
bool is_used(const OperatorPlan& plan, size_t saved, const Value* arguments) {
    for (const DerivativeRule& rule : plan.rules) {
        bool runs = false;
        for (uint8_t target : rule.targets)
            runs |= plan.targets.size() > 1 ? leads_on(arguments[target]) : requires_grad(arguments[target]);
        if (!runs) continue;
        for (const auto& given : rule.given)
            if ((given.kind == DerivativeRule::Given::Kind::Argument || given.kind == DerivativeRule::Given::Kind::Result) &&
                given.saved == saved)
                return true;
    }
    return false;
}

} // namespace

Tensor shape_of(const TensorImpl* impl) {
    Tensor shape = make_tensor(impl->sizes(), impl->strides(), impl->dtype, Device{DeviceType::Meta});
    shape.impl()->offset = impl->offset;
    shape.impl()->layout = impl->layout; // in name only: it has no parts
    if (thread_state.sizes) thread_state.sizes->stands_for(shape.impl(), impl);
    return shape;
}

namespace {

SavedItem save(const Value& v, bool output, OperatorPlan::How how) {
    SavedItem item;
    if (how == OperatorPlan::How::Sizes && v.is_tensor()) {
        if (thread_state.sizes) item.plain = SavedPlain(Value(SizeList(sizes_of(Tensor::share(v.tensor)))));
        else item.plain = SavedPlain(Value(static_cast<const TensorImpl*>(v.tensor)->sizes()));
        return item;
    }
    if (how == OperatorPlan::How::Shape && v.is_tensor()) {
        item.kind = SavedItem::Kind::Shape;
        item.shapes.push_back(shape_of(v.tensor));
        return item;
    }
    if (how == OperatorPlan::How::Shape && v.tag == Value::Tag::TensorList) {
        item.kind = SavedItem::Kind::ShapeList;
        for (uint32_t j = 0; j < v.size; j++) item.shapes.push_back(v.tensors[j].defined() ? shape_of(v.tensors[j].impl()) : Tensor());
        return item;
    }
    if (v.is_tensor()) {
        item.kind = SavedItem::Kind::Tensor;
        item.tensor = SavedTensor(Tensor::share(v.tensor), output);
    } else if (v.tag == Value::Tag::TensorList) {
        item.kind = SavedItem::Kind::List;
        for (uint32_t j = 0; j < v.size; j++) item.list.emplace_back(v.tensors[j], output);
    } else {
        item.plain = SavedPlain(v);
    }
    return item;
}

/// Keeps the arguments that the rules name, and leaves room for the results. `self`: what the first argument was before an in-place call.
void save_arguments(OperatorNode* node, const Value* arguments, const Tensor& self, const Tensor& shape, bool inplace,
                    const uint64_t used) {
    const OperatorPlan& plan = node->plan;
    for (size_t i = 0; i < plan.saved.size(); i++) {
        const auto& each = plan.saved[i];
        if (!(used >> i & 1) || each.result) node->saved.emplace_back();
        else if (inplace && each.index == 0)
            node->saved.push_back(save(Value(each.how == OperatorPlan::How::Whole ? self : shape), false, each.how));
        else if (inplace && self.defined() && each.how == OperatorPlan::How::Whole && arguments[each.index].is_tensor() &&
                 arguments[each.index].tensor == arguments[0].tensor)
            node->saved.push_back(save(Value(self), false, each.how));
        else node->saved.push_back(save(arguments[each.index], false, each.how));
    }
}
void save_results(OperatorNode* node, const Value* results, const uint64_t used) {
    const OperatorPlan& plan = node->plan;
    for (size_t i = 0; i < plan.saved.size(); i++)
        if (plan.saved[i].result && (used >> i & 1)) node->saved[i] = save(results[plan.saved[i].index], true, plan.saved[i].how);
}

/// Gives results their history. A result that is an argument handed back as it came keeps its own.
void set_histories(const Operator& op, const OperatorPlan& plan, GradNode* node, const Value* arguments, Value* results) {
    auto is_argument = [&](const TensorImpl* impl) {
        for (int i = 0; i < op.tensor_count; i++) {
            const Value& v = arguments[op.tensor_positions[i]];
            if (v.is_tensor() && v.tensor == impl) return true;
        }
        return false;
    };
    size_t last = op.schema->results.size(); // of several, the node counts those up to the last that has a gradient
    auto counts = [&](size_t r) {
        return (plan.differentiable >> r & 1) && !(results[r].is_tensor() && !is_differentiable(results[r].tensor->dtype));
    };
    while (last > 1 && !counts(last - 1)) last--;
    for (size_t r = 0; r < op.schema->results.size(); r++) {
        Value& v = results[r];
        if (v.is_tensor()) {
            // A kernel that was added at run time may give a view that its schema says nothing of.
            if (op.body != Body::View && v.tensor->base && v.tensor->use_count() == 1) results[r] = Value::own(untied(v.take_tensor()));
            if (r >= last) continue;
            if (!(plan.differentiable >> r & 1) || is_argument(v.tensor)) node->inputs.emplace_back();
            else set_history(v.tensor, node);
        } else if (v.tag == Value::Tag::TensorList) {
            for (uint32_t j = 0; j < v.size; j++) {
                if (!v.tensors[j].defined()) {
                    node->inputs.emplace_back();
                    continue;
                }
                set_history(v.tensors[j].impl(), node);
            }
        } else {
            node->inputs.emplace_back();
        }
    }
}

void call_below(const Operator& op, Value* arguments, Value* results) {
    Exclude below(key::Autograd);
    call(op, arguments, results);
}

uint64_t used_by_rules(const OperatorPlan& plan, const Value* arguments) {
    uint64_t used = 0;
    for (size_t i = 0; i < plan.saved.size() && i < 64; i++)
        if (is_used(plan, i, arguments)) used |= uint64_t{1} << i;
    return used;
}

void record_functional(const Operator& op, const OperatorPlan& plan, Value* arguments, Value* results) {
    using Kind = OperatorPlan::Kind;
    if (plan.kind == Kind::Parts) return op.kernel(op, arguments, results);
    if (plan.kind == Kind::None) return call_below(op, arguments, results);
    // A view of an inference tensor is one, too, and has no history.
    if (op.body == Body::View && arguments[0].is_tensor() && arguments[0].tensor->inference) return call_below(op, arguments, results);
    if (plan.kind == Kind::Missing) {
        auto node = Ref<GradNode>::adopt(new MissingNode(op));
        lead_back(*node, op, arguments, 0);
        call_below(op, arguments, results);
        return set_histories(op, plan, node.get(), arguments, results);
    }
    check_targets(plan, op, arguments);
    if (!any_target_requires_grad(plan, arguments)) return call_below(op, arguments, results);
    if (plan.kind == Kind::Computed) {
        Ref<GradNode> node = make_pointwise_node(plan, op, arguments, false);
        call_below(op, arguments, results);
        if (!node) return;
        set_histories(op, plan, node.get(), arguments, results);
        save_pointwise_result(node.get(), Tensor::share(results[0].tensor));
        return;
    }
    Ref<GradNode> node = make_rules_node(plan, arguments, false);
    uint64_t used = used_by_rules(plan, arguments);
    call_below(op, arguments, results);
    set_histories(op, plan, node.get(), arguments, results);
    save_arguments(static_cast<OperatorNode*>(node.get()), arguments, {}, {}, false, used);
    save_results(static_cast<OperatorNode*>(node.get()), results, used);
}

void record_inplace(const Operator& op, const OperatorPlan& plan, Value* arguments, Value* results) {
    using Kind = OperatorPlan::Kind;
    if (!arguments[0].is_tensor()) return op.kernel(op, arguments, results); // lists: each member is recorded by itself
    if (op.functional && op.functional->has(trait::KeepsHistory)) return call_below(op, arguments, results);
    Tensor self = Tensor::share(arguments[0].tensor);
    if (open_grad) check_not_captured(self.impl(), op);
    check_inplace(self.impl(), true);
    auto clone_self = [&] {
        Exclude below(key::Autograd);
        return tape::clone(self);
    };
    if (plan.kind == Kind::Parts) {
        Tensor before = clone_self();
        if (requires_grad(self.impl())) set_gradient_edge(before.impl(), gradient_edge(self.impl()));
        return write_by_parts(op, self, before, arguments, results);
    }
    Ref<GradNode> node;
    Tensor before, shape; // the old value, and (of what changes its shape) the old shape
    uint64_t used = 0;
    bool differentiable = is_differentiable(self.dtype());
    if (differentiable && plan.kind == Kind::Missing) node = Ref<GradNode>::adopt(new MissingNode(op));
    if (differentiable && plan.kind == Kind::None && requires_grad(self.impl())) node = Ref<GradNode>::adopt(new ForgetNode(plan.name));
    if (node) node->edges.emplace_back(gradient_edge(self.impl()));
    if (node && plan.kind == Kind::Missing) lead_back(*node, op, arguments, 1);
    if (plan.kind == Kind::Rules || plan.kind == Kind::Computed) check_targets(plan, op, arguments);
    bool recorded = differentiable && any_target_requires_grad(plan, arguments);
    if (recorded && plan.kind == Kind::Rules) {
        node = make_rules_node(plan, arguments, true);
        used = used_by_rules(plan, arguments);
        for (size_t i = 0; i < plan.saved.size(); i++)
            if (!plan.saved[i].result && plan.saved[i].index == 0 && plan.saved[i].how == OperatorPlan::How::Whole && (used >> i & 1)) {
                before = clone_self();
                break;
            }
        shape = op.body == Body::View ? shape_of(self.impl()) : self;
        for (size_t i = 0; i < plan.saved.size() && !before.defined(); i++) {
            const auto& each = plan.saved[i]; // x.clamp_(x): saved as it was, and not with the history that it gets
            if (!each.result && each.index && each.how == OperatorPlan::How::Whole && (used >> i & 1) &&
                arguments[each.index].is_tensor() && arguments[each.index].tensor == self.impl())
                before = clone_self();
        }
        if (before.defined() && requires_grad(self.impl())) set_gradient_edge(before.impl(), gradient_edge(self.impl()));
        // Before the write, as in PyTorch: an argument that cannot be kept leaves self as it was, and one that the write changes is found
        // out.
        save_arguments(static_cast<OperatorNode*>(node.get()), arguments, before, shape, true, used);
    } else if (recorded && plan.kind == Kind::Computed) {
        Value copy[64];
        const Value* given = arguments;
        if (pointwise_saves_self(plan, op, arguments)) {
            before = clone_self();
            if (requires_grad(self.impl())) set_gradient_edge(before.impl(), gradient_edge(self.impl()));
            for (size_t i = 0; i < op.argument_count(); i++) copy[i] = arguments[i];
            for (size_t i = 0; i < op.argument_count(); i++) // x.mul_(x) reads the old value twice
                if (copy[i].is_tensor() && copy[i].tensor == self.impl()) copy[i].tensor = before.impl();
            given = copy;
        }
        node = make_pointwise_node(plan, op, given, true);
    }
    call_below(op, arguments, results);
    if (!node) return;
    if (op.body == Body::View) { // transpose_ and its kin: the header changes, the memory does not
        uint32_t output = node->add_input(*self.impl());
        set_gradient_edge(self.impl(), {node, output}, true);
    } else {
        rebase_history(self.impl(), node);
    }
    if (node->kind != GradNode::Kind::Operation) return;
    try {
        if (plan.kind == Kind::Rules) save_results(static_cast<OperatorNode*>(node.get()), results, used);
        else save_pointwise_result(node.get(), self);
    } catch (...) { // self is what was computed and has this history, but there is no way back through it
        if (plan.kind == Kind::Rules) static_cast<OperatorNode*>(node.get())->released = true;
        node->release_saved();
        throw;
    }
}

} // namespace

void write_by_parts(const Operator& op, const Tensor& self, const Tensor& before, const Value* arguments, Value* results) {
    Value copy[64], computed;
    for (size_t i = 0; i < op.argument_count(); i++)
        copy[i] = arguments[i].is_tensor() && arguments[i].tensor == self.impl() ? Value(before) : arguments[i];
    op.functional_kernel(*op.functional, copy, &computed);
    Tensor result = computed.take_tensor();
    check_computed(op, self, result.dtype(), result.sizes());
    tape::copy_(self, result);
    results[0] = Value::own(Tensor(self));
}

void call_autograd(const Operator& op, Value* arguments, Value* results) {
    const OperatorPlan& plan = plan_of(op);
    if (op.form == Form::Functional) return record_functional(op, plan, arguments, results);
    if (op.form == Form::Inplace) return record_inplace(op, plan, arguments, results);
    // Of what has no derivative, only what makes tensors from nothing minds an out= that requires grad.
    const Operator& functional = *op.functional;
    const bool factory = functional.tensor_count + functional.list_count == 0;
    const bool refused = (factory || plan.kind != OperatorPlan::Kind::None) && any_requires_grad(op, arguments);
    if (refused)
        fail(ErrorKind::Runtime,
             "%s(): functions with out=... arguments don't support automatic differentiation, but one of the "
             "arguments requires grad.",
             op.name());
    call_below(op, arguments, results);
}

} // namespace kindling
