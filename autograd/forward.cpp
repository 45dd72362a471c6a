// autograd/forward.cpp: what a call does when one of its arguments carries a tangent. The call itself runs as ever, for lower
// levels and the tape; then the tangents of its results are computed by ordinary calls, which both see as well.
// Compiled for size.
#include "autograd/forward.h"

#include <algorithm>

#include "autograd/engine.h"
#include "autograd/meta.h"
#include "autograd/ops.h"
#include "autograd/plan.h"
#include "core/batch.h"
#include "core/schema.h"
#include "core/shape.h"
#include "operators/forms.h"

namespace kindling {

namespace {

Tensor zeros_like(const Tensor& t) {
    static constinit NamedOperator op{"zeros_like", ""};
    return call_named(op, t);
}
void add_to(Tensor& sum, Tensor part) {
    if (part.defined()) sum = sum.defined() ? tape::add(sum, part) : std::move(part);
}
Tensor in_dtype(const Tensor& t, DType dtype) {
    if (t.dtype() == dtype) return t;
    return tape::cast(t.is_complex() && !is_complex(dtype) ? tape::real(t) : t, dtype);
}

uint64_t top_level(const Operator& op, const Value* arguments) {
    uint64_t top = 0;
    each_tensor(op, arguments, [&](TensorImpl* tensor) {
        if (key_of(tensor) & key::Dual) top = std::max(top, level_of(tensor, thread_state.forward_cap));
    });
    return top;
}

constexpr size_t most = 64;

struct Call {
    const Operator& op; // the functional form, or what has none
    const OperatorPlan& plan;
    const uint64_t level;
    Value* arguments;
    Value* results;
    Tensor tangents[most];              // of single arguments, by position
    std::vector<Tensor> lists[4];       // of lists, in the order of op.list_positions
    std::vector<Tensor> outputs, found; // results one after another, and their tangents

    Call(const Operator& op, uint64_t level, Value* arguments, Value* results)
        : op(op), plan(plan_of(op)), level(level), arguments(arguments), results(results) {}

    Tensor tangent(const Value& v) const { return v.is_tensor() ? tangent_of(v.tensor, level) : Tensor(); }
    /// Whether an argument that its results can be differentiated by has a tangent.
    bool gather() {
        bool any = false;
        for (int i = 0; i < op.tensor_count; i++) {
            uint8_t at = op.tensor_positions[i];
            if (!plan.is_target(at)) continue;
            tangents[at] = tangent(arguments[at]);
            any |= tangents[at].defined();
        }
        for (int i = 0; i < op.list_count; i++) {
            uint8_t at = op.list_positions[i];
            const Value& v = arguments[at];
            lists[i].clear();
            if (!plan.is_target(at) || v.tag != Value::Tag::TensorList) continue;
            for (uint32_t j = 0; j < v.size; j++) {
                lists[i].push_back(v.tensors[j].defined() ? tangent_of(v.tensors[j].impl(), level) : Tensor());
                any |= lists[i].back().defined();
            }
        }
        return any;
    }
    const std::vector<Tensor>& list_of(uint8_t at) const {
        int i = 0;
        while (op.list_positions[i] != at) i++;
        return lists[i];
    }
    void name_outputs() {
        outputs.clear();
        for (size_t r = 0; r < op.schema->results.size(); r++) {
            if (results[r].tag == Value::Tag::TensorList) {
                for (uint32_t j = 0; j < results[r].size; j++) outputs.push_back(results[r].tensors[j]);
            } else {
                outputs.push_back(results[r].is_tensor() ? Tensor::share(results[r].tensor) : Tensor());
            }
        }
        found.assign(outputs.size() + 8, Tensor());
    }
    bool is_differentiable(size_t output) const {
        const Tensor& t = outputs[output];
        bool counts = op.schema->results.size() == 1 || output >= 32 || (plan.differentiable >> output & 1);
        return t.defined() && counts && kindling::is_differentiable(t.dtype());
    }

    Tensor zeros_to_write(const Tensor& self) const;
    bool runs_plainly() const;
    bool is_shared(const Tensor& tangent, const Tensor& out) const;
    void compute();
    void attach();
    void take(Value* values);
    void of_tangents(const Operator& form, Value* changed, std::vector<std::vector<Tensor>>& lists_kept, std::vector<Tensor>& kept);
    void linear();
    void multilinear();
    void of_view();
    void written_down();
    void by_derivative();
    void each_by_derivative();
    std::vector<std::pair<Tensor, Tensor>> apply_rules(const Tensor* gradients, size_t count, int only);
};

/// What the tangent of an in-place form begins with: zeros, with a batch dimension wherever what is written to it has one.
Tensor Call::zeros_to_write(const Tensor& self) const {
    const Batch* newest = nullptr;
    Tensor like;
    for (int i = 0; i < op.tensor_count; i++) {
        const Tensor& each = tangents[op.tensor_positions[i]];
        if (const Batch* batch = batch_behind(each); batch && (!newest || batch->level->id > newest->level->id))
            newest = batch, like = each;
    }
    BelowLevel below(level);
    if (!newest) return zeros_like(self);
    Tensor zeros = make_tensor_like(like, self.sizes(), self.strides(), self.dtype());
    tape::zero_(zeros);
    return zeros;
}

/// Whether nothing but this level looks at the call.
bool Call::runs_plainly() const {
    uint32_t word = thread_state.include;
    bool lower = false;
    auto look = [&](TensorImpl* tensor) {
        word |= key_of(tensor);
        if (key_of(tensor) & key::Dual) lower |= level_of(tensor, level - 1) != 0;
    };
    each_tensor(op, arguments, look);
    for (int i = 0; i < op.tensor_count; i++)
        if (const Tensor& t = tangents[op.tensor_positions[i]]; t.defined()) look(t.impl());
    const uint32_t ignored = key::Dual | (thread_state.grad_mode ? uint32_t{0} : uint32_t{key::Autograd});
    return !lower && !(word & key::watching & ~thread_state.exclude & ~ignored) && !op.added.load(std::memory_order_relaxed);
}

/// Takes results of a call on tangents for the tangents of results.
void Call::take(Value* values) {
    size_t at = 0;
    for (size_t r = 0; r < op.schema->results.size(); r++) {
        if (values[r].tag == Value::Tag::TensorList) {
            for (Tensor& each : values[r].take_list()) add_to(found[at++], std::move(each));
        } else if (values[r].is_tensor()) {
            add_to(found[at++], values[r].take_tensor());
        } else {
            values[r].discard();
            at++;
        }
    }
}

/// The arguments with tangents in the place of what has them, zeros in that of what has none.
void Call::of_tangents(const Operator& form, Value* changed, std::vector<std::vector<Tensor>>& lists_kept, std::vector<Tensor>& kept) {
    for (size_t i = 0; i < form.argument_count(); i++) changed[i] = arguments[i];
    for (int i = 0; i < op.tensor_count; i++) {
        uint8_t at = op.tensor_positions[i];
        if (!plan.is_target(at) || arguments[at].is_none()) continue;
        if (arguments[at].is_tensor()) {
            kept.push_back(tangents[at].defined() ? tangents[at] : zeros_like(Tensor::share(arguments[at].tensor)));
            changed[at] = kept.back();
        } else {
            changed[at] = Value(0.0);
        }
    }
    for (int i = 0; i < op.list_count; i++) {
        if (lists[i].empty()) continue;
        const Value& v = arguments[op.list_positions[i]];
        lists_kept.push_back(lists[i]);
        for (uint32_t j = 0; j < v.size; j++)
            if (v.tensors[j].defined() && !lists_kept.back()[j].defined()) lists_kept.back()[j] = zeros_like(v.tensors[j]);
        changed[op.list_positions[i]] = TensorList(lists_kept.back().data(), lists_kept.back().size());
    }
}

void Call::linear() {
    Value changed[most], values[8];
    std::vector<std::vector<Tensor>> lists_kept;
    std::vector<Tensor> kept;
    of_tangents(op, changed, lists_kept, kept);
    call(op, changed, values);
    take(values);
}

void Call::multilinear() {
    Value changed[most], values[8];
    for (size_t i = 0; i < op.argument_count(); i++) changed[i] = arguments[i];
    for (uint8_t at : plan.targets) {
        if (!tangents[at].defined()) continue;
        changed[at] = tangents[at];
        call(op, changed, values);
        take(values);
        changed[at] = arguments[at];
    }
}

void Call::of_view() {
    uint8_t at = op.tensor_positions[0];
    if (!tangents[at].defined()) return;
    Value changed[most], values[8];
    for (size_t i = 0; i < op.argument_count(); i++) changed[i] = arguments[i];
    // What is taken by places in memory may look at more of it than the tensor does.
    if (op.schema->find("storage_offset", 14) >= 0)
        tangents[at] = tangent_over_storage(Tensor::share(arguments[at].tensor), level, tangents[at]);
    changed[at] = tangents[at];
    call(op, changed, values);
    take(values);
}

void Call::written_down() {
    using Kind = DerivativeRule::Given::Kind;
    Value given[32];
    size_t count = 0;
    for (const auto& each : plan.forward->given) {
        Value& v = given[count++];
        if (each.kind == Kind::Argument) v = arguments[each.index];
        else if (each.kind == Kind::Result) v = results[each.index];
        else if (op.schema->arguments[each.index].list) v = TensorList(list_of(each.index).data(), list_of(each.index).size());
        else v = tangents[each.index];
    }
    op.forward->apply(given, 0, found.data());
}

/// The declared derivatives of these gradients of the results, each with the tangent of its argument; `only` of one argument, if
/// that is not negative.
std::vector<std::pair<Tensor, Tensor>> Call::apply_rules(const Tensor* gradients, size_t count, int only) {
    using Kind = DerivativeRule::Given::Kind;
    std::vector<std::pair<Tensor, Tensor>> pairs;
    for (const DerivativeRule& rule : plan.rules) {
        struct Place {
            Tensor argument, tangent;
        };
        std::vector<Place> places; // one for each gradient that the rule gives
        uint64_t wanted = 0;
        for (size_t t = 0; t < rule.targets.size(); t++) {
            uint8_t at = rule.targets[t];
            const bool counts = only < 0 || only == at;
            if (!op.schema->arguments[at].list) {
                if (tangents[at].defined() && counts) wanted |= uint64_t{1} << t;
                places.push_back(counts && tangents[at].defined() ? Place{Tensor::share(arguments[at].tensor), tangents[at]} : Place{});
                continue;
            }
            const std::vector<Tensor>& list = list_of(at);
            for (size_t j = 0; j < list.size(); j++) {
                if (list[j].defined() && places.size() < 64) wanted |= uint64_t{1} << places.size();
                places.push_back(list[j].defined() ? Place{arguments[at].tensors[j], list[j]} : Place{});
            }
        }
        if (!wanted) continue;
        Value given[32];
        std::vector<Tensor> alive;
        std::vector<std::vector<Tensor>> shapes;
        alive.reserve(rule.given.size());
        for (size_t i = 0; i < rule.given.size(); i++) {
            const auto& each = rule.given[i];
            if (each.kind == Kind::Grad) {
                if (each.index < count) given[i] = gradients[each.index];
                continue;
            }
            if (each.kind == Kind::Grads) {
                given[i] = TensorList(gradients, count);
                continue;
            }
            if (each.kind == Kind::Wanted) {
                given[i] = static_cast<int64_t>(wanted);
                continue;
            }
            const Value& v = each.kind == Kind::Result ? results[each.index] : arguments[each.index];
            OperatorPlan::How how = plan.saved[each.saved].how;
            given[i] = v;
            if (how == OperatorPlan::How::Sizes && v.is_tensor()) given[i] = static_cast<const TensorImpl*>(v.tensor)->sizes();
            if (how == OperatorPlan::How::Shape && v.is_tensor()) {
                alive.push_back(shape_of(v.tensor));
                given[i] = alive.back();
            }
            if (how == OperatorPlan::How::Shape && v.tag == Value::Tag::TensorList) {
                std::vector<Tensor> list;
                for (uint32_t j = 0; j < v.size; j++) list.push_back(v.tensors[j].defined() ? shape_of(v.tensors[j].impl()) : Tensor());
                shapes.push_back(std::move(list));
                given[i] = TensorList(shapes.back().data(), shapes.back().size());
            }
        }
        std::vector<Tensor> made(places.size() + 8);
        rule.declared->apply(given, wanted, made.data());
        for (size_t k = 0; k < places.size(); k++)
            if (places[k].tangent.defined() && made[k].defined()) pairs.push_back({std::move(made[k]), places[k].tangent});
    }
    return pairs;
}

/// Of real elementwise operators: the Jacobian is diagonal, so the derivative serves both ways.
void Call::each_by_derivative() {
    static constinit NamedOperator expand{"expand", ""};
    const Tensor& out = outputs[0];
    for (uint8_t at : plan.targets) {
        if (!tangents[at].defined()) continue;
        Tensor grad = in_dtype(call_named(expand, tangents[at], out.sizes()), out.dtype());
        for (auto& [part, tangent] : apply_rules(&grad, 1, at)) add_to(found[0], in_dtype(part, out.dtype()));
    }
}

/// The derivative is linear in the gradient, and its own derivative by that, along the tangents, is the tangent.
void Call::by_derivative() {
    std::vector<Tensor> gradients(outputs.size()), roots, seeds, inputs;
    std::vector<size_t> which;
    bool recorded = false;
    {
        Recorded scope;
        for (size_t i = 0; i < outputs.size(); i++) {
            if (!is_differentiable(i)) continue;
            gradients[i] = tape::zeros(outputs[i].sizes(), outputs[i].dtype(), outputs[i].device());
            if (const Batch* batch = batch_behind(outputs[i]))
                gradients[i] = make_batched(gradients[i], batch->level, false); // of its level
            set_requires_grad(gradients[i], true);
            inputs.push_back(gradients[i]);
            which.push_back(i);
        }
        if (inputs.empty()) return;
        for (auto& [gradient, tangent] : apply_rules(gradients.data(), gradients.size(), -1)) {
            Tensor fitted = tape::sum_to(in_dtype(gradient, tangent.dtype()), tangent.sizes());
            if (!fitted.requires_grad()) continue;
            roots.push_back(std::move(fitted));
            seeds.push_back(tangent);
        }
        each_tensor(op, arguments, [&](TensorImpl* tensor) { recorded |= requires_grad(tensor); });
        for (const Tensor& seed : seeds) recorded |= seed.requires_grad();
    }
    if (roots.empty()) return;
    recorded = recorded && thread_state.grad_mode && !(thread_state.exclude & key::Autograd);
    std::vector<Tensor> products = differentiate_tensors(roots.data(), roots.size(), seeds.data(), seeds.size(), recorded, recorded,
                                                         inputs.data(), inputs.size(), false, true);
    for (size_t i = 0; i < which.size(); i++) found[which[i]] = std::move(products[i]);
}

constexpr const char* not_written =
    "has not been implemented yet.\nPlease file an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?"
    "template=feature-request.yml so that we can prioritize its implementation or submit a PR adding the implementation to "
    "derivatives.yaml";
[[noreturn]] void fail_missing(const Operator& op, const char* why) {
    fail(ErrorKind::NotImplemented, "Trying to use forward AD with %s that does not support it because it %s",
         op.form == Form::Out ? (std::string(op.name()) + "_out").c_str() : op.name(), why);
}

/// The tangents of the results, which are there.
void Call::compute() {
    using Kind = OperatorPlan::Kind;
    name_outputs();
    BelowLevel below(level);
    const bool pointwise = op.body == Body::Pointwise;
    try {
        if (plan.forward) written_down();
        else if (pointwise && plan.kind == Kind::Computed) found[0] = pointwise_tangent(plan, op, arguments, tangents, outputs[0], nullptr);
        else if (op.body == Body::View) of_view();
        else if (op.has(trait::Linear)) linear();
        else if (op.has(trait::Multilinear)) multilinear();
        else if (plan.kind != Kind::Rules) fail_missing(op, not_written);
        else if (pointwise && !outputs[0].is_complex() &&
                 std::none_of(tangents, tangents + most, [](const Tensor& t) { return t.defined() && t.is_complex(); }))
            each_by_derivative();
        else by_derivative();
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::NotImplemented && plan.kind == Kind::Rules && !plan.forward) fail_missing(op, not_written);
        throw;
    }
}

/// Whether a result's tangent looks into that of an argument: a write to the result would be seen there.
bool Call::is_shared(const Tensor& tangent, const Tensor& out) const {
    auto same = [&](const Tensor& other, const Tensor& argument) {
        return other.defined() && other.storage() == tangent.storage() && argument.storage() != out.storage();
    };
    for (int i = 0; i < op.tensor_count; i++)
        if (uint8_t at = op.tensor_positions[i]; tangents[at].defined() && same(tangents[at], Tensor::share(arguments[at].tensor)))
            return true;
    for (int i = 0; i < op.list_count; i++)
        for (size_t j = 0; j < lists[i].size(); j++)
            if (same(lists[i][j], arguments[op.list_positions[i]].tensors[j])) return true;
    return false;
}

void Call::attach() {
    for (size_t i = 0; i < outputs.size(); i++) {
        if (!is_differentiable(i)) continue;
        Tensor out = outputs[i];
        bool given = false; // an argument handed back as it came keeps its own
        each_tensor(op, arguments, [&](TensorImpl* tensor) { given |= tensor == out.impl(); });
        if (given) continue;
        Tensor tangent = std::move(found[i]);
        BelowLevel below(level);
        if (!tangent.defined()) tangent = zeros_like(out);
        tangent = in_dtype(tangent, out.dtype());
        if (tangent.sizes() != out.sizes()) {
            static constinit NamedOperator expand{"expand", ""};
            tangent = call_named(expand, tangent, out.sizes());
        }
        if (op.body != Body::View && is_shared(tangent, out)) tangent = tape::clone(tangent);
        set_tangent(out, level, std::move(tangent));
    }
}

void call_functional(const Operator& op, uint64_t level, Value* arguments, Value* results) {
    Call c(op, level, arguments, results);
    if (c.plan.kind == OperatorPlan::Kind::Parts && !c.plan.forward) return op.kernel(op, arguments, results);
    bool any = c.gather() && c.plan.kind != OperatorPlan::Kind::None;
    if (any && op.body == Body::Pointwise && c.plan.kind == OperatorPlan::Kind::Computed && !c.plan.forward && c.runs_plainly()) {
        Tensor value;
        BelowLevel below(level);
        Tensor tangent = pointwise_tangent(c.plan, op, arguments, c.tangents, {}, &value);
        if (value.defined()) {
            results[0] = Value::own(Tensor(value));
            set_tangent(value, level, std::move(tangent));
            return;
        }
    }
    {
        BelowLevel below(level);
        call(op, arguments, results);
    }
    if (!any) {
        // Of what has no derivative, PyTorch says so where gradients could come of it.
        if (c.plan.kind != OperatorPlan::Kind::Missing) return;
        bool dual = false;
        each_tensor(op, arguments, [&](TensorImpl* tensor) { dual |= kindling::tangent_of(tensor, level).defined(); });
        if (!dual) return;
        c.compute();
        return;
    }
    c.compute();
    c.attach();
}

void call_inplace(const Operator& op, uint64_t level, Value* arguments, Value* results) {
    const Operator& home = *op.functional;
    if (!arguments[0].is_tensor()) return op.kernel(op, arguments, results); // lists: each member is written to by itself
    Tensor self = Tensor::share(arguments[0].tensor);
    Call c(home, level, arguments, results);
    using Kind = OperatorPlan::Kind;
    if (c.plan.kind == Kind::Parts && &home != &op && !c.plan.forward) {
        return write_by_parts(op, self, tape::clone(self), arguments, results);
    }
    bool differentiable = is_differentiable(self.dtype()) && !(home.has(trait::KeepsHistory) && &home != &op);
    bool any = c.gather() && differentiable;
    if (open_grad && any) check_not_captured(self.impl(), op);
    if (c.plan.kind == Kind::None || !any) {
        {
            BelowLevel below(level);
            call(op, arguments, results);
        }
        if (!differentiable) return;
        Tensor old = tangent_of(self.impl(), level);
        BelowLevel below(level);
        if (old.defined()) tape::zero_(old); // what is written does not depend on what was there
        return;
    }
    if (home.body == Body::View) { // transpose_ and its kin: the header changes, the memory does not
        c.name_outputs();
        c.found.assign(1, Tensor());
        BelowLevel below(level);
        c.of_view();
        call(op, arguments, results);
        if (c.found[0].defined()) set_tangent(self, level, c.found[0]);
        return;
    }
    if (home.has(trait::Linear)) {
        {
            BelowLevel below(level);
            call(op, arguments, results);
        }
        if (!tangent_of(self.impl(), level).defined()) write_tangent(self, level, c.zeros_to_write(self));
        c.tangents[0] = tangent_of(self.impl(), level);
        Value changed[most], written;
        std::vector<std::vector<Tensor>> lists_kept;
        std::vector<Tensor> kept;
        BelowLevel below(level);
        c.of_tangents(op, changed, lists_kept, kept);
        changed[0] = c.tangents[0];
        call(op, changed, &written);
        written.discard();
        return;
    }
    // The rules see self as it was.
    Tensor before;
    Value copy[most];
    {
        BelowLevel below(level);
        before = tape::clone(self);
        call(op, arguments, results);
    }
    for (size_t i = 0; i < home.argument_count(); i++)
        copy[i] = arguments[i].is_tensor() && arguments[i].tensor == self.impl() ? Value(before) : arguments[i];
    c.arguments = copy;
    c.compute();
    Tensor tangent = std::move(c.found[0]);
    {
        BelowLevel below(level);
        if (!tangent.defined()) tangent = zeros_like(self);
    }
    write_tangent(self, level, tangent);
}

} // namespace

bool call_forward(const Operator& op, Value* arguments, Value* results) {
    if (!thread_state.forward_grad_mode || thread_state.inference_mode) return false;
    uint64_t level = top_level(op, arguments);
    if (!level) return false;
    const AddedKernels* added = op.added.load(std::memory_order_relaxed);
    if (added && added->layers[static_cast<int>(Layer::Autograd)].kernel) return false;
    thread_state.reusable = nullptr;
    if (op.form == Form::Functional) {
        call_functional(op, level, arguments, results);
    } else if (op.form == Form::Inplace) {
        call_inplace(op, level, arguments, results);
    } else {
        const OperatorPlan& plan = plan_of(op);
        if (plan.kind == OperatorPlan::Kind::None) return false;
        fail_missing(op, "is an out= function");
    }
    return true;
}

} // namespace kindling
