// operators/forms.cpp: in-place and out= forms of bodies that are not pointwise, and copies between tensors.
// Compiled for calls.
#include "operators/forms.h"

#include <algorithm>

#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/cached.h"
#include "operators/loops.h"

namespace kindling {

void (*warn)(const char* message) = nullptr;

void written(const Tensor& tensor) {
    if (tensor.impl()->uncounted) {
        KINDLING_CHECK(Runtime, thread_state.inference_mode,
                       "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
                       "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.");
        return;
    }
    tensor.bump_version();
}

void check_device(const Tensor& out, bool meta) {
    KINDLING_CHECK(Runtime, out.is_meta() == meta,
                   "Attempting to copy from device %s to device %s, but cross-device copies are not allowed!", meta ? "meta" : "cpu",
                   meta ? "cpu" : "meta");
}

void fit_out(const Tensor& out, IntList sizes, IntList strides) {
    if (out.sizes() == sizes) return;
    if (out.numel() != 0 && warn)
        warn(format("An output with one or more elements was resized since it had shape %s, which does not match the required "
                    "output shape %s. This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
                    "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero "
                    "elements with t.resize_(0).",
                    str(out.sizes()).c_str(), str(sizes).c_str())
                 .c_str());
    resize_tensor(out, sizes, strides);
}

static const Expression& cast_expression(DType from, DType to) {
    static constinit std::atomic<const Expression*> made[dtype_count][dtype_count] = {};
    auto& slot = made[static_cast<int>(from)][static_cast<int>(to)];
    const Expression* expression = slot.load(std::memory_order_acquire);
    if (!expression) {
        ExpressionBuilder builder;
        builder.output(cast(builder.input(from), to));
        auto* fresh = new Expression(builder.finish());
        if (!slot.compare_exchange_strong(expression, fresh)) delete fresh;
        else expression = fresh;
    }
    return *expression;
}

/// Casts what `from` reads as, by its lazy bits, to what has to lie in a `to` with bits of its own.
static const Expression& cast_expression(DType from, uint32_t from_bits, DType to, uint32_t to_bits) {
    if (from_bits == to_bits && (from == to || !from_bits)) return cast_expression(from, to);
    return cached_expression(key_of(from, to, from_bits << 16 | to_bits), [&](ExpressionBuilder& b) {
        auto through = [](Sym value, uint32_t bits) {
            if (bits & key::Conj) value = conj(value);
            return bits & key::Neg ? -value : value;
        };
        b.output(through(cast(through(b.input(from), from_bits), to), to_bits));
    });
}

static uint32_t lazy_bits(const TensorImpl* tensor) { return tensor->key & key::lazy; }

Tensor like_input(const Tensor& result, const Tensor& input) {
    const MemoryFormat format = input.suggest_memory_format();
    if (format == MemoryFormat::Contiguous) return contiguous(result);
    if (!result.is_contiguous(format)) return contiguous(result, format);
    Sizes strides = format_strides(result.sizes(), format); // dimensions of size 1 have those of the format, too
    return result.strides() == IntList(strides) ? result : as_strided(result, result.sizes(), strides);
}

void copy_into(const Tensor& target, const Tensor& source) {
    if (target.is_meta() || source.is_meta()) return;
    Sizes check = expanded_strides(source.sizes(), source.strides(), target.sizes());
    TensorImpl *to = target.impl(), *from = source.impl();
    if ((to->key | from->key) & key::Private) return copy_between_devices(target, source);
    const Expression& expression = cast_expression(source.dtype(), lazy_bits(from), target.dtype(), lazy_bits(to));
    Tensor detour;
    if (from->storage == to->storage && from != to) { // overlapping copies go through fresh memory
        bool same = from->offset == to->offset && source.strides() == target.strides() && source.sizes() == target.sizes();
        if (!same) {
            detour = make_tensor(source.sizes(), source.dtype());
            TensorImpl* header = detour.impl();
            run_loop(cast_expression(source.dtype(), source.dtype()), source.sizes(), &header, 1, &from, 1, nullptr);
            from = detour.impl();
        }
    }
    run_loop(expression, target.sizes(), &to, 1, &from, 1, nullptr);
}

Tensor resolve_lazy_bits(const Tensor& tensor) {
    TensorImpl* from = tensor.impl();
    if (!lazy_bits(from)) return tensor;
    Tensor result = make_tensor(tensor.sizes(), output_strides(tensor.sizes(), &from, 1), tensor.dtype(), tensor.device());
    copy_into(result, tensor);
    return result;
}

void write_result(const Tensor& target, const Tensor& result) {
    if (target.sizes() == result.sizes()) check_overlap(target, nullptr, 0);
    written(target);
    if (target.sizes() != result.sizes()) resize_tensor(target, result.sizes(), contiguous_strides(result.sizes()));
    copy_into(target, result);
}

static void run_functional(const Operator& op, Value* arguments, Value* results) {
    op.functional_kernel(*op.functional, arguments, results);
}

// What the body that runs may write to instead of a copy.
static constinit thread_local const TensorImpl* written_in_place [[gnu::tls_model("initial-exec")]] = nullptr;

bool writes_in_place(const Tensor& self, std::initializer_list<Tensor> reads) {
    if (!written_in_place || written_in_place != self.impl() || self.is_meta() || self.device().type != DeviceType::CPU) return false;
    written_in_place = nullptr;
    for (const Tensor& each : reads)
        if (each.impl()->storage == self.impl()->storage) return false;
    return true;
}

// The target of an out= form that draws numbers.
static constinit thread_local const TensorImpl* drawn_for [[gnu::tls_model("initial-exec")]] = nullptr;

Tensor room_to_draw(IntList sizes, DType dtype, Device device) {
    const TensorImpl* target = std::exchange(drawn_for, nullptr);
    if (!target) return make_tensor(sizes, dtype, device);
    Tensor out = Tensor::share(const_cast<TensorImpl*>(target));
    if (out.sizes() != sizes || out.device() != device || is_expanded(*target)) return make_tensor(sizes, out.dtype(), device);
    return make_tensor(sizes, out.strides(), out.dtype(), device);
}

Tensor copy_to_write(const Tensor& self, std::initializer_list<Tensor> reads) {
    return writes_in_place(self, reads) ? self : clone(self, MemoryFormat::Contiguous);
}

void refuse_target(const Operator& op, DType result, DType target) {
    const char *made = scalar_type_name(result), *given = scalar_type_name(target);
    switch (op.out_dtype) {
    case OutDType::Castable:
        KINDLING_CHECK(Runtime, can_cast(result, target), "result type %s can't be cast to the desired output type %s", made, given);
        return;
    case OutDType::Joined:
        KINDLING_CHECK(Type, can_cast(result, target), "torch.cat(): input types can't be cast to the desired output type %s", given);
        return;
    case OutDType::Floats:
        KINDLING_CHECK(Runtime, is_floating(target), "%s expects a floating point output tensor, but got %s", op.name(), given);
        return;
    case OutDType::Truth:
        KINDLING_CHECK(Runtime, target == DType::Bool || target == DType::UInt8, "%s only supports bool tensor for result, got: %s",
                       op.name(), given);
        return;
    default: break;
    }
    if (op.form == Form::Inplace)
        fail(ErrorKind::Runtime, "the base given to %s has dtype %s but the operation's result requires dtype %s", op.name(), given, made);
    if (!strcmp(op.name(), "nonzero"))
        fail(ErrorKind::Runtime, "nonzero: Expected out tensor to have scalar type %s but got scalar type%s", made, given);
    if (op.body == Body::Pointwise) fail(ErrorKind::Runtime, "Found dtype %s but expected %s", given, made);
    fail(ErrorKind::Runtime, "Expected out tensor to have dtype %s, but got %s instead", c_type_name(result), c_type_name(target));
}

/// Computes in the target's dtype where the call names none. What makes tensors from nothing takes no other.
bool take_dtype(const Operator& op, Value* arguments, DType target) {
    bool taken = false;
    for (size_t i = 0; i < op.argument_count(); i++) {
        if (op.schema->arguments[i].type != Type::DType) continue;
        const Value& usual = op.schema->arguments[i].default_value; // randint's is int64, but not for an out
        if (arguments[i].is_none() || (!usual.is_none() && arguments[i].dtype == usual.dtype)) arguments[i] = Value(target), taken = true;
        KINDLING_CHECK(Runtime, arguments[i].dtype == target || !op.functional->schema->factory,
                       "dtype %s does not match dtype of out parameter (%s)", scalar_type_name(arguments[i].dtype),
                       scalar_type_name(target));
    }
    return taken;
}

void warn_of_expanded(const Tensor& self, const char* name, const char* also) {
    if (warn && is_expanded(*self.impl()))
        warn(format("Use of %s on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
                    "This also applies to advanced indexing e.g. tensor[%s",
                    name, also)
                 .c_str());
}

void check_inplace(const Operator& op, const Tensor& self, Value* arguments) {
    if (op.functional->has(trait::TakesExpanded)) warn_of_expanded(self, op.name(), "mask] = scalar");
    else check_overlap(self, nullptr, 0);
    if (op.out_dtype == OutDType::Decides) take_dtype(op, arguments, self.dtype());
    if (op.functional->has(trait::OutApart))
        for (int i = 0; i < op.tensor_count; i++) {
            const Value& v = arguments[op.tensor_positions[i]];
            if (op.tensor_positions[i] && v.is_tensor()) check_apart(self, *v.tensor, true);
        }
}

void check_computed(const Operator& op, const Tensor& self, DType dtype, IntList sizes) {
    check_target(op, dtype, self.dtype());
    KINDLING_CHECK(Runtime, sizes == self.sizes(), "output with shape %s doesn't match the broadcast shape %s", str(self.sizes()).c_str(),
                   str(sizes).c_str());
}

void inplace_kernel(const Operator& op, Value* arguments, Value* results) {
    check_inplace(op, Tensor::share(arguments[0].tensor), arguments);
    run_inplace(op, op.functional_kernel, arguments, results);
}

void run_inplace(const Operator& op, Kernel kernel, Value* arguments, Value* results) {
    Tensor self = Tensor::share(arguments[0].tensor);
    Value computed;
    {
        struct Offer {
            explicit Offer(const TensorImpl* target) { written_in_place = target; }
            ~Offer() { written_in_place = nullptr; }
        } offer(op.functional->has(trait::WritesCopy) ? self.impl() : nullptr);
        kernel(*op.functional, arguments, &computed);
    }
    Tensor result = computed.take_tensor();
    if (result.impl() == self.impl()) {
        written(self);
        results[0] = Value::own(std::move(self));
        return;
    }
    check_computed(op, self, result.dtype(), result.sizes());
    copy_into(self, result);
    written(self);
    results[0] = Value::own(std::move(self));
}

void view_inplace_kernel(const Operator& op, Value* arguments, Value* results) {
    Tensor self = Tensor::share(arguments[0].tensor);
    Value computed;
    run_functional(op, arguments, &computed);
    Tensor result = computed.take_tensor();
    self.impl()->set_shape(result.sizes(), result.strides());
    self.impl()->offset = result.storage_offset();
    written(self);
    results[0] = Value::own(std::move(self));
}

int read_tensors(const Operator& op, const Value* arguments, TensorImpl** inputs) {
    const size_t first = op.argument_count() - (op.schema->results.empty() ? 1 : op.schema->results.size());
    int count = 0;
    for (int i = 0; i < op.tensor_count; i++) {
        const Value& v = arguments[op.tensor_positions[i]];
        if (v.is_tensor() && op.tensor_positions[i] < first) inputs[count++] = v.tensor;
    }
    for (int i = 0; i < op.list_count; i++) {
        const Value& v = arguments[op.list_positions[i]];
        for (uint32_t j = 0; v.tag == Value::Tag::TensorList && op.list_positions[i] < first && j < v.size && count < 64; j++)
            if (v.tensors[j].defined()) inputs[count++] = v.tensors[j].impl();
    }
    return count;
}

void prepare_out(const Operator& op, const Tensor& out, DType dtype, bool meta, IntList sizes, IntList strides, TensorImpl* const* inputs,
                 int input_count) {
    check_target(op, dtype, out.dtype());
    check_device(out, meta);
    check_overlap(out, nullptr, 0);
    const bool factory = op.functional->device_position != 0xff; // of which PyTorch resizes the target without a word
    if (!factory) fit_out(out, sizes, strides);
    else if (out.sizes() != sizes) resize_tensor(out, sizes, strides);
    const bool apart = op.functional->has(trait::OutApart), may_be_self = op.functional->has(trait::Inplace) && input_count;
    if (may_be_self) check_overlap(out, inputs, 1);
    check_overlap(out, inputs + may_be_self, input_count - may_be_self, apart);
}

void out_kernel(const Operator& op, Value* arguments, Value* results) {
    const bool list = op.schema->results.empty(); // one list of tensors
    size_t count = list ? 1 : op.schema->results.size(), first = op.argument_count() - count;
    TensorImpl* inputs[64];
    const int input_count = read_tensors(op, arguments, inputs);
    if (op.out_dtype == OutDType::Decides) take_dtype(op, arguments, arguments[first].tensor->dtype);
    struct Owned { // nobody takes them if a check raises
        Value* values;
        size_t count;
        ~Owned() {
            while (count) values[--count].discard();
        }
    };
    Value computed[8];
    Owned rest{computed, count}, given{results, count};
    {
        struct Offer {
            explicit Offer(const TensorImpl* target) { drawn_for = target; }
            ~Offer() { drawn_for = nullptr; }
        } offer(op.functional->has(trait::Random) && !list ? arguments[first].tensor : nullptr);
        run_functional(op, arguments, computed);
    }
    auto write = [&](const Tensor& result, const Tensor& out) {
        prepare_out(op, out, result.dtype(), result.is_meta(), result.sizes(), result.strides(), inputs, input_count);
        copy_into(out, result);
        written(out);
    };
    if (list) {
        std::vector<Tensor> made = computed[0].take_list();
        TensorList outs(arguments[first].tensors, arguments[first].size);
        KINDLING_CHECK(Runtime, made.size() == outs.size(), "%s_out() expected an out= argument of size %zu, got size %zu",
                       op.functional->name(), made.size(), outs.size());
        for (size_t i = 0; i < made.size(); i++)
            op.has(trait::OutKeepsShape) ? static_cast<void>(copy_(outs[i], made[i])) : write(made[i], outs[i]);
        given.count = 0;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        Tensor result = computed[i].take_tensor(), out = Tensor::share(arguments[first + i].tensor);
        if (result.defined() && op.has(trait::OutKeepsShape) && out.numel() == result.numel()) result = view(result, out.sizes());
        if (result.defined()) write(result, out);
    }
    // Nobody lets go of results of a call that raises, so they are made when nothing can raise any more.
    for (size_t i = 0; i < count; i++) results[i] = Value::own(Tensor::share(arguments[first + i].tensor));
    given.count = 0;
}

bool has_row_strides(IntList sizes, IntList strides) {
    int64_t step = 1; // -1: more than 64 bits hold
    for (size_t d = sizes.size(); d-- > 0;) {
        if (strides[d] != step) return false;
        if (__builtin_mul_overflow(step, std::max<int64_t>(sizes[d], 1), &step)) step = -1;
    }
    return true;
}

} // namespace kindling
