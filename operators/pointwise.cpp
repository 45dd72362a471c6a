// operators/pointwise.cpp: a scalar body as an operator. What depends on dtypes and structural arguments alone is worked out
// once and kept in the operator; a call then checks shapes, allocates and runs.
// Compiled for calls.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "core/dispatch.h"
#include "graph/pending.h"
#include "kernels/tile/tile.h"
#include "operators/forms.h"
#include "operators/loops.h"

namespace kindling {
namespace {

constexpr int max_arity = 12;

/// All that a plan is made from. A call with more than fits (long texts) has a plan of its own.
struct PlanKey {
    static constexpr int room = 2 * max_arity;
    int count = 0;
    uint64_t words[room];
    void add(uint64_t word) { words[count < room ? count : room - 1] = word, count++; }
    bool fits() const { return count <= room; }
    bool operator==(const PlanKey& other) const {
        if (count != other.count) return false;
        for (int i = 0; i < count; i++)
            if (words[i] != other.words[i]) return false;
        return true;
    }
};

struct CachedPlan {
    const CachedPlan* next = nullptr;
    PlanKey key;
    PointwisePlan plan;
};
constinit std::mutex plan_lock;

/// A keyword number left at its default (alpha=1) shapes the expression instead of taking a run-time slot, so that
/// a + b is one addition.
bool at_default(const Argument& argument, const Value& v) {
    return argument.keyword_only && argument.type == Type::Scalar && v.tag == Value::Tag::Int &&
           argument.default_value.tag == Value::Tag::Int && v.integer == argument.default_value.integer;
}

/// Everything that shapes the expression.
inline void read_key(const Operator& op, const Value* arguments, PlanKey& key) {
    key.add(static_cast<uint64_t>(default_dtype()));
    for (int i = 0; i < op.scalar_arity; i++) {
        const Value& v = arguments[i];
        const Argument& argument = op.schema->arguments[static_cast<size_t>(i)];
        uint64_t mine = static_cast<uint64_t>(v.tag) << 56;
        switch (v.tag) {
        case Value::Tag::Tensor:
            key.add(mine | static_cast<uint64_t>(v.tensor->dtype) | (v.tensor->ndim ? 256u : 0u) | (v.tensor->wrapped_number ? 512u : 0u));
            break;
        case Value::Tag::Text:
            key.add(mine | v.size);
            for (uint32_t at = 0; at < v.size; at += 8) {
                uint64_t letters = 0;
                std::memcpy(&letters, v.text + at, std::min<size_t>(8, v.size - at));
                key.add(letters);
            }
            break;
        case Value::Tag::Bool:
        case Value::Tag::Int: {
            bool shapes = argument.type == Type::Bool || argument.type == Type::Int || at_default(argument, v);
            key.add(mine | shapes);
            if (shapes) key.add(static_cast<uint64_t>(v.integer));
            break;
        }
        case Value::Tag::DType: key.add(mine | static_cast<uint64_t>(v.dtype)); break;
        default: key.add(mine); break;
        }
    }
}

/// Whether a number given for this argument takes part in promotion.
bool promotes(const Operator& op, const Argument& argument) {
    if (argument.type == Type::Tensor) return true;
    if (argument.type != Type::Scalar || std::strcmp(argument.name, "alpha") == 0) return false;
    return op.promotion == Promotion::WithScalars || std::strstr(op.functional->overload(), "Scalar") != nullptr;
}

void check_defined(const Operator& op, bool defined, DType type) {
    KINDLING_CHECK(NotImplemented, defined, "\"%s_cpu\" not implemented for '%s'", op.functional->name(), scalar_type_name(type));
}
/// NotImplementedError in the operator's name where the expression needs a primitive that is not there for a dtype.
void check_defined(const Operator& op, const Expression& expression, DType compute) {
    for (const Node& node : expression.nodes) {
        if (node.primitive == Primitive::Select || node.primitive == Primitive::MakeComplex) continue; // have rules of their own
        for (int k = 0; k < operand_count(node.primitive); k++) {
            DType type = expression.nodes[static_cast<size_t>(node.operands[k])].type;
            check_defined(op, primitive_allows(node.primitive, type), type == value_type(compute) ? compute : type);
        }
    }
}

/// Operands become the dtype that an operator computes in before anything else, so a half type's 0.1 is equal to 0.1; but what a
/// product or a quotient has for a second one, if a number, stays as precise as it is.
bool reads_wide(const Operator& op, int argument, int ndim) { return op.has(trait::WideSecond) && argument > 0 && ndim == 0; }

/// The dtype that the operands are promoted to.
DType compute_type(const Operator& op, const Value* arguments, bool to_run) {
    ResultType result_type;
    DType first = DType::None;
    for (int i = 0; i < op.scalar_arity; i++) {
        const Value& v = arguments[i];
        const Argument& argument = op.schema->arguments[static_cast<size_t>(i)];
        if (v.is_tensor()) {
            if (op.promotion == Promotion::Condition && i == 0) continue; // where's mask
            result_type.add(*v.tensor);
            if (first == DType::None) first = v.tensor->dtype;
        } else if (v.is_number() && promotes(op, argument)) result_type.add(v.scalar());
    }
    DType compute = op.promotion == Promotion::Same && first != DType::None ? first : result_type.get();
    if (to_run && op.no_kernel) check_kernel(op, compute);
    if (op.promotion == Promotion::IntToFloat && category(compute) < 2) compute = default_dtype();
    KINDLING_CHECK(Runtime, compute != DType::None, "%s(): no tensor or number to take a dtype from", op.name());
    return compute;
}

/// Of a plan that is not `to_run`, only the dtypes are of use: it may be of what is not implemented.
void make_plan(const Operator& op, const Value* arguments, PointwisePlan& plan, bool to_run = true) {
    const DType compute = plan.compute = compute_type(op, arguments, to_run);

    Sym symbols[max_arity];
    DType types[max_arity];
    uint32_t narrow = 0;
    for (int i = 0; i < op.scalar_arity; i++) {
        const Value& v = arguments[i];
        Type type = op.schema->arguments[static_cast<size_t>(i)].type;
        types[i] = DType::None;
        if (v.is_tensor()) {
            types[i] = v.tensor->dtype;
            if (is_narrow(compute) && types[i] != compute && !reads_wide(op, i, v.tensor->ndim)) narrow |= 1u << i;
            plan.input_position[plan.input_count++] = static_cast<uint8_t>(i);
        } else if (v.tag == Value::Tag::Text) symbols[i] = Sym(Text(v.text, v.size));
        else if (v.is_number() && type == Type::Bool) symbols[i] = Sym(v.integer != 0);
        else if (v.is_number() && type == Type::Int) symbols[i] = Sym(v.integer);
        else if (at_default(op.schema->arguments[static_cast<size_t>(i)], v)) symbols[i] = Sym(v.integer);
        else if (v.is_number()) {
            symbols[i] = Sym(1.0);
            types[i] = value_type(compute);
            plan.scalar_checked[plan.scalar_count] = type == Type::Scalar && (op.promotion == Promotion::WithScalars ||
                                                                              !promotes(op, op.schema->arguments[static_cast<size_t>(i)]));
            plan.scalar_type[plan.scalar_count] =
                op.has(trait::OwnNumbers) || (promotes(op, op.schema->arguments[static_cast<size_t>(i)]) && !reads_wide(op, i, 0))
                    ? compute
                    : types[i];
            plan.scalar_position[plan.scalar_count++] = static_cast<uint8_t>(i);
        }
    }
    // where's mask must stay bool: it is not converted to the compute dtype.
    ScalarBody body{op.scalar_build, op.scalar_arity};
    DType inner = op.promotion == Promotion::Condition || op.promotion == Promotion::Free ? DType::None : compute;
    DType result = op.promotion == Promotion::Condition ? compute : op.result_dtype;
    plan.expression =
        build_expression(body, symbols, types, inner, result, op.promotion == Promotion::Condition, inner == DType::None ? 0 : narrow);
    if (op.result_dtype == DType::None && is_narrow(compute) && plan.expression.output_type(0) == DType::Float32)
        plan.expression = build_expression(body, symbols, types, inner, compute, false, narrow);
    if (to_run) check_defined(op, plan.expression, compute);
}

void check_size(const TensorImpl* self, IntList sizes) {
    KINDLING_CHECK(Runtime, sizes == self->sizes(), "output with shape %s doesn't match the broadcast shape %s", str(self->sizes()).c_str(),
                   str(sizes).c_str());
}

/// What PyTorch's iterator finds before it asks for a kernel: shapes that do not fit, and a result that does not fit its target.
[[gnu::cold]] void check_what_comes_first(const Operator& op, const Value* arguments) {
    PointwisePlan plan;
    make_plan(op, arguments, plan, false);
    TensorImpl* inputs[max_arity];
    for (int i = 0; i < plan.input_count; i++) inputs[i] = arguments[plan.input_position[i]].tensor;
    Sizes sizes = broadcast_all(inputs, plan.input_count, op.name());
    if (op.form == Form::Functional) return;
    const TensorImpl* target = arguments[op.form == Form::Inplace ? 0 : op.argument_count() - op.schema->results.size()].tensor;
    const bool no_kernel = op.no_kernel & kind_of(plan.compute);
    check_target(op, no_kernel ? plan.compute : plan.expression.output_type(0), target->dtype);
    if (op.form == Form::Inplace) check_size(target, sizes);
}

void make_checked_plan(const Operator& op, const Value* arguments, PointwisePlan& plan) {
    const Operator& home = *op.functional;
    if (home.check) home.check(home, const_cast<Value*>(arguments), nullptr); // before shapes and targets, as PyTorch's
    try {
        make_plan(op, arguments, plan);
        plan.rows = home.has(trait::Rows) || (home.has(trait::ComplexRows) && is_complex(plan.compute));
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::NotImplemented) check_what_comes_first(op, arguments);
        throw;
    }
}

struct Call {
    PlanRef plan;
    TensorImpl* inputs[max_arity];
    Immediate scalars[max_arity];
};

void gather(const Operator& op, const Value* arguments, Call& call) {
    call.plan = pointwise_plan(op, arguments);
    const PointwisePlan& plan = *call.plan;
    for (int i = 0; i < plan.input_count; i++) call.inputs[i] = arguments[plan.input_position[i]].tensor;
    if (!plan.scalar_count) return;
    for (int i = 0; i < plan.scalar_count; i++) call.scalars[i] = pointwise_scalar(plan, arguments, i);
}

Sizes strides_for(const Call& call, IntList sizes) {
    if (call.plan->rows) return contiguous_strides(sizes);
    return output_strides(sizes, call.inputs, call.plan->input_count, call.plan->compute);
}

Tensor fresh_output(const Call& call, IntList sizes, int output, Device device) {
    DType dtype = call.plan->expression.output_type(output);
    bool row_major = true; // the common case, without working strides out
    for (int i = 0; i < call.plan->input_count && row_major; i++)
        row_major = call.inputs[i]->contiguous && std::as_const(*call.inputs[i]).sizes() == sizes;
    return row_major ? make_tensor(sizes, dtype, device) : make_tensor(sizes, strides_for(call, sizes), dtype, device);
}

/// The memory of `old`, which only the caller's reference holds, for a result that would be laid out alike.
Tensor output_over(const Call& call, IntList sizes, const TensorImpl* old) {
    if (call.plan->rows || old->dtype != call.plan->expression.output_type(0) || old->offset || old->sizes() != sizes ||
        old->storage->bytes != static_cast<size_t>(old->numel) * item_size(old->dtype) ||
        old->strides() != IntList(strides_for(call, sizes)))
        return {};
    old->storage->version = 0;
    return make_tensor(Ref<Storage>::share(old->storage), 0, sizes, old->strides(), old->dtype);
}

Device device_of(const Call& call) {
    for (int i = 0; i < call.plan->input_count; i++)
        if (call.inputs[i]->is_meta()) return call.inputs[i]->device;
    return call.plan->input_count ? call.inputs[0]->device : Device{};
}

} // namespace

Immediate pointwise_scalar(const PointwisePlan& plan, const Value* arguments, int which) {
    const Value& v = arguments[plan.scalar_position[which]];
    const DType type = plan.scalar_type[which];
    if (plan.scalar_checked[which]) check_fits(v.scalar(), type);
    switch (v.tag) {
    case Value::Tag::Float: return Immediate::of(type, v.real);
    case Value::Tag::Complex: return Immediate::of(type, std::complex<double>(v.real, v.imag));
    case Value::Tag::UInt: return Immediate::of(type, static_cast<uint64_t>(v.integer));
    default: return Immediate::of(type, v.integer);
    }
}

/// Makes a plan, and keeps it under `key` if there is room.
[[gnu::noinline]] static PlanRef add_plan(const Operator& op, const Value* arguments, const PlanKey& key) {
    int count = 0;
    const Operator& home = *op.functional;
    auto first = [&] { return static_cast<const CachedPlan*>(home.plans.load(std::memory_order_acquire)); };
    for (auto* cached = first(); cached; cached = cached->next) count++;
    if (count >= kept_plans || !key.fits()) {
        auto alone = std::make_unique<PointwisePlan>();
        make_checked_plan(op, arguments, *alone);
        return PlanRef(alone.release());
    }
    auto fresh = std::make_unique<CachedPlan>();
    fresh->key = key;
    make_checked_plan(op, arguments, fresh->plan);
    fresh->plan.kept = true;
    std::lock_guard<std::mutex> guard(plan_lock);
    fresh->next = first();
    home.plans.store(fresh.get(), std::memory_order_release);
    return PlanRef(&fresh.release()->plan);
}

PlanRef pointwise_plan(const Operator& op, const Value* arguments) {
    PlanKey key;
    read_key(op, arguments, key);
    if (key.fits()) [[likely]]
        for (auto* cached = static_cast<const CachedPlan*>(op.functional->plans.load(std::memory_order_acquire)); cached;
             cached = cached->next)
            if (cached->key == key) return PlanRef(&cached->plan);
    return add_plan(op, arguments, key);
}

static inline void run_pointwise(const Operator& op, const Call& call, TensorImpl* reusable, Value* results) {
    const PointwisePlan& plan = *call.plan;
    Sizes sizes = broadcast_all(call.inputs, plan.input_count, op.name());
    Device device = device_of(call);
    int count = static_cast<int>(plan.expression.outputs.size());
    Tensor outputs[4];
    TensorImpl* headers[4];
    for (int i = 0; i < count; i++) {
        if (reusable && count == 1) outputs[i] = output_over(call, sizes, reusable);
        if (!outputs[i].defined()) outputs[i] = fresh_output(call, sizes, i, device);
        headers[i] = outputs[i].impl();
    }
    if (device.type == DeviceType::CPU) run_loop(plan.expression, sizes, headers, count, call.inputs, plan.input_count, call.scalars);
    for (int i = 0; i < count; i++) results[i] = Value::own(std::move(outputs[i]));
}

void pointwise_kernel(const Operator& op, Value* arguments, Value* results) {
    TensorImpl* reusable = std::exchange(thread_state.reusable, nullptr);
    Call call;
    gather(op, arguments, call);
    if (thread_state.recording) [[unlikely]] {
        RunNow now(!call.plan->kept); // an expression that goes with the call is not put off
        return run_pointwise(op, call, nullptr, results);
    }
    run_pointwise(op, call, reusable, results);
}

/// The plan's expression with its output stored as `dtype`; loops convert on the store when asked to, so this is cheap.
static void run_into(const Call& call, IntList sizes, TensorImpl* const* targets, int count) {
    if (targets[0]->device.type == DeviceType::Meta) return;
    const Expression& expression = call.plan->expression;
    bool fits = true;
    for (int i = 0; i < count; i++) fits &= expression.output_type(i) == targets[i]->dtype;
    if (fits) return run_loop(expression, sizes, targets, count, call.inputs, call.plan->input_count, call.scalars);
    Tensor computed[4];
    TensorImpl* headers[4];
    for (int i = 0; i < count; i++) {
        computed[i] = make_tensor(sizes, expression.output_type(i));
        headers[i] = computed[i].impl();
    }
    run_loop(expression, sizes, headers, count, call.inputs, call.plan->input_count, call.scalars);
    for (int i = 0; i < count; i++) copy_into(Tensor::share(targets[i]), computed[i]);
}

void pointwise_inplace_kernel(const Operator& op, Value* arguments, Value* results) {
    Call call;
    gather(op, arguments, call);
    RunNow now(thread_state.recording && !call.plan->kept);
    Tensor self = Tensor::share(arguments[0].tensor);
    KINDLING_CHECK(Runtime, category(call.plan->compute) < 3 || category(call.plan->expression.output_type(0)) != 2,
                   "In-place %s is not supported for complex tensors.", op.functional->name());
    Sizes sizes = broadcast_all(call.inputs, call.plan->input_count, op.name());
    check_size(self.impl(), sizes);
    check_target(op, call.plan->expression.output_type(0), self.dtype());
    check_overlap(self, call.inputs, call.plan->input_count);
    TensorImpl* header = self.impl();
    run_into(call, sizes, &header, 1);
    written(self);
    results[0] = Value::own(std::move(self));
}

void pointwise_out_kernel(const Operator& op, Value* arguments, Value* results) {
    Call call;
    gather(op, arguments, call);
    RunNow now(thread_state.recording && !call.plan->kept);
    Sizes sizes = broadcast_all(call.inputs, call.plan->input_count, op.name());
    Sizes strides = strides_for(call, sizes);
    int count = static_cast<int>(call.plan->expression.outputs.size());
    int first = static_cast<int>(op.argument_count()) - count;
    TensorImpl* headers[4];
    for (int i = 0; i < count; i++) {
        Tensor out = Tensor::share(arguments[first + i].tensor);
        const DType made = call.plan->expression.output_type(i);
        if (op.out_dtype == OutDType::Same && is_complex(call.plan->compute) &&
            is_floating(made)) // a modulus may be written to a complex number
            KINDLING_CHECK(Runtime, out.dtype() == call.plan->compute || (!out.is_complex() && can_cast(made, out.dtype())),
                           out.is_complex() ? "Found dtype %s but expected %s"
                                            : "result type %s can't be cast to the desired output type %s",
                           scalar_type_name(out.is_complex() ? out.dtype() : made),
                           scalar_type_name(out.is_complex() ? call.plan->compute : out.dtype()));
        else check_target(op, made, out.dtype());
        check_device(out, device_of(call).type == DeviceType::Meta);
        check_overlap(out, call.inputs, call.plan->input_count);
        for (int k = 0; k < call.plan->input_count; k++) // what is read as well cannot be another size
            if (call.inputs[k] == out.impl()) check_size(out.impl(), sizes);
        fit_out(out, sizes, strides);
        headers[i] = out.impl();
    }
    if (device_of(call).type == DeviceType::CPU) run_into(call, sizes, headers, count);
    for (int i = 0; i < count; i++) written(Tensor::share(headers[i])); // may raise: before there are results, which nobody would let go of
    for (int i = 0; i < count; i++) results[i] = Value::own(Tensor::share(headers[i]));
}

} // namespace kindling
