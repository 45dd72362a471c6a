// autograd/pointwise.cpp: derivatives of scalar bodies. The expression the forward loop ran is differentiated once per
// combination of dtypes; going backward, all gradients come out of one loop. Where the backward itself is recorded or
// watched (create_graph, modes, subclasses), the same expression is evaluated operator by operator.
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "autograd/forward.h"
#include "autograd/meta.h"
#include "autograd/ops.h"
#include "autograd/plan.h"
#include "core/schema.h"
#include "core/shape.h"
#include "operators/forms.h"
#include "operators/loops.h"
#include "operators/sparse/kernels.h"

namespace kindling {

/// The derivative of one plan of an operator, for one set of arguments that require grad.
struct OperatorPlan::Computation {
    PlanRef forward;
    uint32_t wanted; // bit per input of the forward expression
    Expression loop; // inputs: those of `reads`; one output per wanted input
    /// What the loop reads, in order: 0 is the gradient, then the inputs of the forward expression, then its result.
    std::vector<uint8_t> reads;
    std::vector<DType> read_types; // as it wants them: hooks may give back another dtype
    std::vector<uint8_t> inputs;   // the wanted ones
    /// Output k is the gradient itself: always (-1), if this scalar is one (0..), or not (-2).
    std::vector<int8_t> passes;
    std::vector<DType> scalar_types;
    DType gradient_type, result_type;
    bool reads_result = false;
    bool whole_loop = true; // some output is more than the gradient itself
    Computation* next = nullptr;
};

namespace {

constinit std::mutex computation_lock;

/// Whether this value is the gradient, or the gradient times one run-time scalar; seen through conversions to and from
/// the wider type half types are computed in.
[[gnu::cold]] int8_t pass_of(const Expression& e, int32_t output, DType gradient_type) {
    auto at = [&](int32_t i) -> const Node& { return e.nodes[static_cast<size_t>(i)]; };
    if (at(output).type != gradient_type) return -2;
    DType wide = value_type(gradient_type);
    int32_t i = output;
    while (at(i).primitive == Primitive::Cast && (at(at(i).operands[0]).type == wide || at(at(i).operands[0]).type == gradient_type))
        i = at(i).operands[0];
    auto is_gradient = [&](int32_t j) {
        while (at(j).primitive == Primitive::Cast && at(j).type == wide && at(at(j).operands[0]).type == gradient_type)
            j = at(j).operands[0];
        return at(j).primitive == Primitive::Input && at(j).index() == 0;
    };
    if (is_gradient(i)) return -1;
    if (at(i).primitive == Primitive::Mul)
        for (int side = 0; side < 2; side++) {
            int32_t other = at(i).operands[1 - side];
            if (is_gradient(at(i).operands[side]) && at(other).primitive == Primitive::Scalar)
                return static_cast<int8_t>(at(other).index());
        }
    return -2;
}

/// Bits beside those of the wanted inputs: the tangent rather than gradients, and along with it the value; or gradients in the
/// dtype that they are computed in, which the engine sums to the shape of what was broadcast, and casts then.
constexpr uint32_t tangent_bit = 1u << 31, value_bit = 1u << 30, wide_bit = 1u << 29;

/// Inputs: those of the forward expression, the tangents of the wanted ones and, without the value, the result.
[[gnu::cold]] void compute_tangent(OperatorPlan::Computation& made, const PointwisePlan& forward, const std::vector<int>& wanted,
                                   bool value) {
    made.loop = differentiate_forward(forward.expression, wanted.data(), static_cast<int>(wanted.size()));
    if (!value) return;
    ExpressionBuilder builder;
    const size_t count = static_cast<size_t>(forward.input_count);
    std::vector<Sym> inputs(static_cast<size_t>(made.loop.input_count)),
        scalars(static_cast<size_t>(std::max(made.loop.scalar_count, forward.expression.scalar_count)));
    for (const Expression* each : {&forward.expression, &const_cast<const Expression&>(made.loop)})
        for (const Node& node : each->nodes) {
            if (node.primitive == Primitive::Scalar) scalars[static_cast<size_t>(node.index())] = builder.scalar(node.index(), node.type);
            if (node.primitive == Primitive::Input && static_cast<size_t>(node.index()) < count + wanted.size())
                inputs[static_cast<size_t>(node.index())] = builder.input(node.index(), node.type);
        }
    Sym result = builder.append(forward.expression, inputs.data(), scalars.data())[0];
    inputs.back() = result;
    Sym tangent = builder.append(made.loop, inputs.data(), scalars.data())[0];
    builder.output(result);
    builder.output(tangent);
    made.loop = builder.finish();
}

[[gnu::cold]] std::unique_ptr<OperatorPlan::Computation> compute(const PlanRef& plan, uint32_t wanted) {
    const PointwisePlan& forward = *plan;
    auto made = std::make_unique<OperatorPlan::Computation>();
    made->forward = plan;
    made->wanted = wanted;
    std::vector<int> list;
    for (int i = 0; i < forward.input_count; i++)
        if (wanted >> i & 1) {
            list.push_back(i);
            made->inputs.push_back(static_cast<uint8_t>(i));
        }
    if (wanted & tangent_bit) {
        compute_tangent(*made, forward, list, wanted & value_bit);
        return made;
    }
    Expression full = differentiate(forward.expression, list.data(), static_cast<int>(list.size()));
    if (wanted & wide_bit)
        for (int32_t& output : full.outputs) {
            const Node& cast = full.nodes[static_cast<size_t>(output)];
            if (cast.primitive != Primitive::Cast) continue;
            const DType wider = full.nodes[static_cast<size_t>(cast.operands[0])].type;
            if (is_floating(wider) && is_floating(cast.type) && item_size(wider) > item_size(cast.type)) output = cast.operands[0];
        }
    made->gradient_type = made->result_type = forward.expression.output_type(0);
    ExpressionBuilder builder;
    std::vector<Sym> inputs(static_cast<size_t>(full.input_count)), scalars(static_cast<size_t>(full.scalar_count));
    made->scalar_types.resize(scalars.size(), DType::Float64);
    for (const Node& node : full.nodes)
        if (node.primitive == Primitive::Scalar) {
            scalars[static_cast<size_t>(node.index())] = builder.scalar(node.index(), node.type);
            made->scalar_types[static_cast<size_t>(node.index())] = node.type;
        }
    for (int i = 0; i < full.input_count; i++) {
        DType type = i == 0 || i == forward.input_count + 1 ? made->gradient_type : DType::None;
        for (const Node& node : full.nodes)
            if (node.primitive == Primitive::Input && node.index() == i) type = node.type;
        if (i != 0 && !full.uses_input(i)) continue;
        inputs[static_cast<size_t>(i)] = builder.input(static_cast<int>(made->reads.size()), type);
        made->reads.push_back(static_cast<uint8_t>(i));
        made->read_types.push_back(type);
        if (i == forward.input_count + 1) made->reads_result = true;
    }
    for (const Sym& output : builder.append(full, inputs.data(), scalars.data())) builder.output(output);
    made->loop = builder.finish();
    made->whole_loop = false;
    for (int32_t output : made->loop.outputs) {
        made->passes.push_back(pass_of(made->loop, output, made->gradient_type));
        made->whole_loop |= made->passes.back() == -2;
    }
    return made;
}

/// Kept along with the plan of the forward loop, else handed to `own`.
const OperatorPlan::Computation* computation(const OperatorPlan& plan, const PlanRef& forward, uint32_t wanted,
                                             std::unique_ptr<const OperatorPlan::Computation>& own) {
    if (!forward->kept) {
        own = compute(forward, wanted);
        return own.get();
    }
    auto& head = const_cast<OperatorPlan&>(plan).computations;
    for (auto* c = head.load(std::memory_order_acquire); c; c = c->next)
        if (&*c->forward == &*forward && c->wanted == wanted) return c;
    auto* fresh = compute(forward, wanted).release();
    std::lock_guard<std::mutex> guard(computation_lock);
    fresh->next = head.load();
    head.store(fresh, std::memory_order_release);
    return fresh;
}

uint32_t wanted_inputs(const PointwisePlan& forward, const Value* arguments) {
    uint32_t wanted = 0;
    for (int i = 0; i < forward.input_count; i++) {
        TensorImpl* input = arguments[forward.input_position[i]].tensor;
        if (requires_grad(input) && is_differentiable(input->dtype)) wanted |= 1u << i;
    }
    return wanted;
}

// ---- operator by operator

/// A value on the way: a tensor, or a number not yet met by one.
struct Term {
    Tensor tensor;
    Scalar number;
    bool is_number() const { return !tensor.defined(); }
};

[[gnu::cold]] Scalar number_of(const Immediate& value, DType type) {
    if (is_complex(type)) return Scalar(value.to_complex(type));
    if (is_floating(type)) return Scalar(value.to_double(type));
    return type == DType::Bool ? Scalar(value.to_int(type) != 0) : Scalar(value.to_int(type));
}

[[gnu::cold]] Tensor apply(const char* name, const char* overload, const Value* given, size_t count) {
    NamedOperator op{name, overload};
    return call_values(op, given, count);
}

[[gnu::cold]] Term evaluate_node(const Node& node, const Term* terms) {
    auto& first = terms[node.operands[0]];
    auto tensor = [&](int operand) -> Tensor {
        const Term& term = terms[node.operands[operand]];
        return term.is_number() ? wrap_number(term.number) : term.tensor;
    };
    auto either = [&](int operand) -> Value {
        const Term& term = terms[node.operands[operand]];
        return term.is_number() ? Value(term.number) : Value(term.tensor);
    };
    if (node.primitive == Primitive::Cast) {
        if (first.is_number())
            return {{},
                    is_complex(node.type)    ? Scalar(first.number.to_complex())
                    : is_floating(node.type) ? Scalar(first.number.to_double())
                                             : first.number};
        return {first.tensor.dtype() == node.type ? first.tensor : tape::cast(first.tensor, node.type), {}};
    }
    if (node.primitive == Primitive::Conj && !is_complex(node.type)) return first;
    if (node.primitive == Primitive::Fma) {
        Tensor a = tensor(0), b = tensor(1), c = tensor(2);
        Value product[] = {Value(a), Value(b)};
        Tensor ab = apply("mul", "Tensor", product, 2);
        return {tape::add(ab, c), {}};
    }
    if (node.primitive == Primitive::TruncDiv || node.primitive == Primitive::FloorDiv) {
        Tensor a = tensor(0), b = tensor(1);
        Value given[] = {Value(a), Value(b), Value(node.primitive == Primitive::FloorDiv ? "floor" : "trunc")};
        return {apply("div", "Tensor_mode", given, 3), {}};
    }
    if (node.primitive == Primitive::Pow && terms[node.operands[1]].is_number() && !first.is_number()) {
        Value given[] = {Value(first.tensor), Value(terms[node.operands[1]].number)};
        return {apply("pow", "Tensor_Scalar", given, 2), {}};
    }
    if (const std::string_view spelled = operator_of(node.primitive); !spelled.empty()) {
        const size_t dot = std::min(spelled.find('.'), spelled.size());
        const std::string name(spelled.substr(0, dot)), overload(spelled.substr(std::min(dot + 1, spelled.size())));
        int count = operand_count(node.primitive);
        Tensor held[3];
        Value given[3];
        bool all_numbers = true;
        for (int i = 0; i < count; i++) all_numbers &= terms[node.operands[i]].is_number();
        for (int i = 0; i < count; i++) {
            bool as_tensor = all_numbers || i == 0 || node.primitive == Primitive::Select || node.primitive == Primitive::MakeComplex ||
                             !terms[node.operands[i]].is_number();
            if (as_tensor) {
                held[i] = tensor(i);
                // complex() wants two tensors of one dtype, of which one may be a number here.
                if (all_numbers && is_differentiable(held[i].dtype()))
                    held[i] = tape::cast(held[i], held[i].is_complex() ? DType::Complex128 : DType::Float64);
                else if (node.primitive == Primitive::MakeComplex && held[i].dtype() != to_real(node.type))
                    held[i] = tape::cast(held[i], to_real(node.type));
                given[i] = held[i];
            } else {
                given[i] = either(i);
                given[i].wrapped = true;
            }
        }
        Tensor result = apply(name.c_str(), overload.c_str(), given, static_cast<size_t>(count));
        // What comes of numbers alone is one, and not of the default dtype.
        return all_numbers ? Term{{}, result.item_scalar()} : Term{std::move(result), {}};
    }
    fail(ErrorKind::NotImplemented, "a second derivative through '%s' is not implemented", name(node.primitive));
}

[[gnu::cold]] std::vector<Tensor> evaluate_by_operators(const Expression& e, const Tensor* inputs, const Immediate* scalars) {
    static constinit NamedOperator full_like{"full_like", ""};
    std::vector<Term> terms(e.nodes.size());
    for (size_t i = 0; i < e.nodes.size(); i++) {
        const Node& node = e.nodes[i];
        switch (node.primitive) {
        case Primitive::Input: terms[i].tensor = inputs[node.index()]; break;
        case Primitive::Scalar: terms[i].number = number_of(scalars[node.index()], node.type); break;
        case Primitive::Constant: terms[i].number = number_of(node.value, node.type); break;
        default: terms[i] = evaluate_node(node, terms.data());
        }
    }
    std::vector<Tensor> results;
    for (int32_t output : e.outputs) {
        const Term& term = terms[static_cast<size_t>(output)];
        results.push_back(term.is_number() ? call_named(full_like, inputs[0], term.number, e.output_type(static_cast<int>(results.size())))
                                           : term.tensor);
    }
    return results;
}

} // namespace

struct PointwiseNode final : GradNode {
    const OperatorPlan& plan;
    const OperatorPlan::Computation* what = nullptr;
    std::unique_ptr<const OperatorPlan::Computation> own; // `what`, where nobody else keeps it
    Few<SavedTensor, 2> saved;                            // as `what->reads`, without the gradient
    Few<Immediate, 1> scalars;
    Few<uint8_t, 4> edge_of; // which edge a wanted input's gradient takes
    bool released = false;
    bool nowhere = false; // no edge leads anywhere: nothing is kept, and nothing computed
    int pins = 0;

    explicit PointwiseNode(const OperatorPlan& p) : GradNode(Kind::Operation), plan(p) {}
    const char* name() const override { return plan.name; }
    void release_saved() override {
        Few<SavedTensor, 2> dropped;
        SpinGuard guard(lock);
        released = true;
        if (pins) return;
        for (auto& each : saved) {
            dropped.emplace_back(std::move(each));
            each.reset();
        }
    }
    void apply(Backward& b) override {
        if (nowhere) return;
        {
            SpinGuard guard(lock);
            if (released && (what->reads.size() > 1 || (plan.keeps_number && scalars.size()))) fail_released();
            pins++;
        }
        struct Unpin {
            PointwiseNode& node;
            ~Unpin() {
                bool last;
                {
                    SpinGuard guard(node.lock);
                    last = --node.pins == 0 && node.released;
                }
                if (last) node.release_saved();
            }
        } unpin{*this};
        run(b);
    }
    void run(Backward& b);
};

void PointwiseNode::run(Backward& b) {
    const auto& c = *what;
    Tensor grad = b.gradients[0];
    bool all_pass = true;
    for (size_t k = 0; k < c.inputs.size(); k++) {
        size_t edge = edge_of[k];
        if (b.needed && !b.needed[edge]) continue;
        int8_t pass = c.passes[k];
        if (pass == -1 || (pass >= 0 && scalars[static_cast<size_t>(pass)].to_complex(c.scalar_types[static_cast<size_t>(pass)]) == 1.0))
            b.results[edge] = grad;
        else all_pass = false;
    }
    if (all_pass) return;
    auto self = Ref<GradNode>::share(this);
    Few<Tensor, 4> held;
    held.push_back(grad.dtype() == c.gradient_type ? grad : tape::cast(grad, c.gradient_type));
    uint32_t word = key_of(held[0].impl());
    for (size_t i = 1; i < c.reads.size(); i++) {
        Tensor value = saved[i - 1].unpack(self, b.differentiable, b.slices);
        DType type = c.read_types[i];
        if (c.reads_result && i + 1 == c.reads.size()) type = c.result_type;
        if (type != DType::None && value.dtype() != type) value = tape::cast(value, type);
        word |= key_of(value.impl());
        held.push_back(std::move(value));
    }
    word |= thread_state.include;
    std::vector<Tensor> results;
    // Of one sparse tensor: the same loop over the values, the gradient's taken from the same places.
    Tensor pattern;
    if (word & key::Layout && c.forward->input_count == 1 && !b.differentiable)
        for (size_t i = held.size(); i-- > 1;)
            if (is_sparse(held[i])) pattern = held[i];
    if (pattern.defined()) {
        word &= ~static_cast<uint32_t>(key::Layout);
        if (is_coo(pattern)) pattern = coalesced(pattern);
        for (size_t i = 0; i < held.size(); i++) held[i] = values_like(held[i], pattern);
    }
    uint32_t watch = key::watching & ~static_cast<uint32_t>(b.differentiable ? key::Profile : key::Profile | key::Autograd);
    if (word & watch & ~thread_state.exclude) {
        results = evaluate_by_operators(c.loop, held.data(), scalars.data());
    } else {
        Few<TensorImpl*, 4> inputs;
        for (auto& each : held) inputs.push_back(each.impl());
        int count = static_cast<int>(inputs.size());
        Sizes sizes = broadcast_all(inputs.data(), count, name());
        Sizes strides = output_strides(sizes, inputs.data(), count);
        Few<TensorImpl*, 4> outputs;
        for (size_t k = 0; k < c.inputs.size(); k++) {
            results.push_back(make_tensor(sizes, strides, c.loop.output_type(static_cast<int>(k)), grad.device()));
            outputs.push_back(results.back().impl());
        }
        RunNow now(own != nullptr); // an expression that goes with the node is not put off
        if (!grad.is_meta())
            run_loop(c.loop, sizes, outputs.data(), static_cast<int>(outputs.size()), inputs.data(), count, scalars.data());
    }
    for (size_t k = 0; k < c.inputs.size(); k++) {
        size_t edge = edge_of[k];
        if (b.needed && !b.needed[edge]) continue;
        if (!b.results[edge].defined()) b.results[edge] = pattern.defined() ? with_values(pattern, results[k]) : std::move(results[k]);
    }
}

static uint32_t remember_scalars(const PointwisePlan& forward, const Value* arguments, PointwiseNode& node) {
    for (int i = 0; i < forward.scalar_count; i++) node.scalars.push_back(pointwise_scalar(forward, arguments, i));
    return static_cast<uint32_t>(forward.scalar_count);
}

Ref<GradNode> make_pointwise_node(const OperatorPlan& plan, const Operator& op, const Value* arguments, bool) {
    const PlanRef kept = pointwise_plan(op, arguments);
    const PointwisePlan& forward = *kept;
    if (forward.expression.outputs.size() != 1 || !is_differentiable(forward.expression.output_type(0))) return {};
    uint32_t wanted = wanted_inputs(forward, arguments), leading = 0;
    if (!wanted) return {};
    for (int i = 0; i < forward.input_count; i++)
        if ((wanted >> i & 1) && leads_on(arguments[forward.input_position[i]].tensor)) leading |= 1u << i;
    if (leading) wanted = leading;
    for (int i = 0; i < forward.input_count; i++) {
        const TensorImpl* input = arguments[forward.input_position[i]].tensor;
        if (!(wanted >> i & 1) || input->dtype == forward.expression.output_type(0)) continue;
        for (int other = 0; other < forward.input_count; other++)
            if (std::as_const(*arguments[forward.input_position[other]].tensor).sizes() != input->sizes()) wanted |= wide_bit;
    }
    auto* node = new PointwiseNode(plan);
    node->nowhere = !leading && plan.targets.size() > 1; // of one operand, what is kept is kept all the same, as in PyTorch
    auto ref = Ref<GradNode>::adopt(node);
    node->what = computation(plan, kept, wanted, node->own);
    const auto& c = *node->what;
    size_t next = 0;
    for (uint8_t target : plan.targets) { // an edge for every tensor argument, as torch shows them
        const Value& v = arguments[target];
        for (int i = 0; i < forward.input_count; i++)
            if (forward.input_position[i] == target && (wanted >> i & 1)) {
                KINDLING_ASSERT(c.inputs[next] == i);
                node->edge_of.push_back(static_cast<uint8_t>(node->edges.size()));
                next++;
            }
        node->edges.emplace_back(v.is_tensor() && requires_grad(v.tensor) ? gradient_edge(v.tensor) : Edge());
    }
    for (size_t i = 1; i < c.reads.size(); i++) {
        int read = c.reads[i] - 1;
        if (read < forward.input_count && node->nowhere) node->saved.emplace_back();
        else if (read < forward.input_count)
            node->saved.emplace_back(SavedTensor(Tensor::share(arguments[forward.input_position[read]].tensor), false));
    }
    remember_scalars(forward, arguments, *node);
    return ref;
}

void save_pointwise_result(GradNode* node, const Tensor& result) {
    auto* mine = static_cast<PointwiseNode*>(node);
    if (mine->what->reads_result) mine->saved.emplace_back(mine->nowhere ? SavedTensor() : SavedTensor(result, true));
}

bool pointwise_saves_self(const OperatorPlan& plan, const Operator& op, const Value* arguments) {
    const PlanRef kept = pointwise_plan(op, arguments);
    const PointwisePlan& forward = *kept;
    if (forward.expression.outputs.size() != 1 || !is_differentiable(forward.expression.output_type(0))) return false;
    uint32_t wanted = wanted_inputs(forward, arguments);
    if (!wanted) return false;
    std::unique_ptr<const OperatorPlan::Computation> own;
    const auto* c = computation(plan, kept, wanted, own);
    for (size_t i = 1; i < c->reads.size(); i++) {
        int read = c->reads[i] - 1;
        if (read < forward.input_count && arguments[forward.input_position[read]].tensor == arguments[0].tensor) return true;
    }
    return false;
}

Tensor pointwise_tangent(const OperatorPlan& plan, const Operator& op, const Value* arguments, const Tensor* tangents, const Tensor& result,
                         Tensor* value) {
    const PlanRef kept = pointwise_plan(op, arguments);
    const PointwisePlan& forward = *kept;
    if (forward.expression.outputs.size() != 1 || !is_differentiable(forward.expression.output_type(0))) return {};
    uint32_t wanted = tangent_bit | (value ? value_bit : 0);
    Few<Tensor, 6> held;
    for (int i = 0; i < forward.input_count; i++) held.push_back(Tensor::share(arguments[forward.input_position[i]].tensor));
    for (int i = 0; i < forward.input_count; i++)
        if (const Tensor& tangent = tangents[forward.input_position[i]]; tangent.defined()) {
            wanted |= 1u << i;
            held.push_back(tangent);
        }
    if (!value) held.push_back(result);
    std::unique_ptr<const OperatorPlan::Computation> own;
    const auto* c = computation(plan, kept, wanted, own);
    Immediate scalars[12];
    for (int i = 0; i < forward.scalar_count; i++) scalars[i] = pointwise_scalar(forward, arguments, i);
    if (!value) return evaluate_by_operators(c->loop, held.data(), scalars)[0];
    Few<TensorImpl*, 6> inputs;
    for (auto& each : held) inputs.push_back(each.impl());
    Sizes sizes = broadcast_all(inputs.data(), forward.input_count, op.name());
    Sizes strides = forward.rows ? contiguous_strides(sizes) : output_strides(sizes, inputs.data(), forward.input_count, forward.compute);
    Tensor outputs[2];
    TensorImpl* headers[2];
    for (int i = 0; i < 2; i++) {
        outputs[i] = make_tensor(sizes, strides, c->loop.output_type(i), held[0].device());
        headers[i] = outputs[i].impl();
    }
    RunNow now(own != nullptr); // an expression that goes with the call is not put off
    run_loop(c->loop, sizes, headers, 2, inputs.data(), static_cast<int>(inputs.size()), scalars);
    *value = std::move(outputs[0]);
    return std::move(outputs[1]);
}

[[gnu::cold]] std::vector<SavedView> saved_values(const GradNode& node, bool& released) {
    released = false;
    std::vector<SavedView> result;
    if (auto* rules = dynamic_cast<const OperatorNode*>(&node)) {
        released = rules->released;
        for (size_t i = 0; i < rules->saved.size(); i++) {
            const SavedItem& item = rules->saved[i];
            const char* name = rules->plan.saved[i].name;
            if (item.kind == SavedItem::Kind::Tensor) result.push_back({name, &item.tensor, nullptr, nullptr});
            else if (item.kind == SavedItem::Kind::List) result.push_back({name, nullptr, &item.list, nullptr});
            else if (item.kind == SavedItem::Kind::Shape && !item.shapes.empty())
                result.push_back({name, nullptr, nullptr, nullptr, &item.shapes[0]});
            else if (item.kind == SavedItem::Kind::Plain) result.push_back({name, nullptr, nullptr, &item.plain.value()});
        }
    } else if (auto* pointwise = dynamic_cast<const PointwiseNode*>(&node)) {
        released = pointwise->released;
        const auto& c = *pointwise->what;
        for (size_t i = 1; i < c.reads.size() && i - 1 < pointwise->saved.size(); i++) {
            int read = c.reads[i] - 1;
            const char* name =
                read < c.forward->input_count ? pointwise->plan.op->schema->arguments[c.forward->input_position[read]].name : "result";
            result.push_back({name, &pointwise->saved[i - 1], nullptr, nullptr});
        }
    }
    return result;
}

} // namespace kindling
