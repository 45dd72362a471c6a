// core/dispatch.cpp: the layers of a call, and the boxing of arguments of generated C++ functions.
#include "core/dispatch.h"
#include "core/batch.h"
#include "core/named.h"
#include "core/opaque.h"
#include "core/profile.h"

#include <new>

#include "core/autocast.h"
#include "core/shape.h"

namespace kindling {

constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));
constinit thread_local uint32_t open_grad __attribute__((tls_model("initial-exec"))) = 0;
void (*call_python_dispatch)(const Operator& op, Value* arguments, Value* results) = nullptr;
void (*call_traced)(const Operator& op, uint32_t word, Value* arguments, Value* results) = nullptr;
void* (*release_lock)() = nullptr;
void (*retake_lock)(void*) = nullptr;

/// A kernel never sees a tensor without data beside one with: only numbers (0-d tensors) mix with the meta device, and
/// what copies or indexes into it. A library kernel answers on its first tensor's device, so there a number cannot come
/// first. Derivatives hand shapes on as meta tensors: the arguments called `shape`. Returns whether more than a shape is meta.
[[gnu::cold]] static bool on_meta(const Operator& op, const Value* arguments) {
    // A result rule says itself where a shape follows from values.
    if (op.has(trait::ShapeByValue) && op.body != Body::Pointwise && !op.composite && !op.functional->rule)
        fail(ErrorKind::NotImplemented, "aten::%s: the shape of its result depends on values, which Meta tensors do not have", op.name());
    const TensorImpl* first = nullptr;
    bool mixed = false, meta = op.list_count > 0, late = false;
    auto look = [&](const TensorImpl* tensor, bool shape_only) {
        if (!first && !shape_only) first = tensor;
        if (!tensor->is_meta()) mixed = mixed || tensor->ndim > 0;
        else if (!shape_only) meta = true, late = late || !first->is_meta();
    };
    for (int at = 0; at < static_cast<int>(op.argument_count()); at++) {
        const Value& v = arguments[at];
        const Argument& argument = op.schema->arguments[static_cast<size_t>(at)];
        if (v.tag == Value::Tag::Tensor) {
            look(v.tensor, std::string_view(argument.name) == "shape");
        } else if (v.tag == Value::Tag::TensorList && !(argument.optional_items && first && first->is_meta())) { // indices of any device
            for (uint32_t j = 0; j < v.size; j++)
                if (v.tensors[j].defined()) look(v.tensors[j].impl(), false);
        }
    }
    const bool writes = op.has(trait::Broadcasts) && op.functional == &op && op.form == Form::Inplace; // copy_ says what it refuses
    bool checked = (op.body == Body::Kernel && !writes) || op.body == Body::Pointwise;
    if (!checked) return meta;
    if ((mixed && meta) || (late && (op.body == Body::Kernel || op.form == Form::Inplace)))
        fail(ErrorKind::Runtime, "%s: Expected all tensors to be on the same device, but found at least two devices, meta and cpu!",
             op.name());
    return meta;
}

/// Eight-bit dtypes are not promoted with others, and there is no kernel but where the declaration says so.
[[gnu::cold, noreturn]] static void refuse_float8(const Operator& op, const Value* arguments) {
    DType narrow = asked_dtype(op, arguments), common = DType::None;
    each_tensor(op, arguments, [&](const TensorImpl* tensor) {
        if (op.body == Body::Pointwise && op.form == Form::Functional && tensor->ndim)
            common = common == DType::None ? tensor->dtype : promote_or_fail(common, tensor->dtype);
        if (!is_float8(narrow)) narrow = tensor->dtype;
    });
    fail(ErrorKind::NotImplemented, "\"%s_cpu\" not implemented for '%s'", op.functional->name(), scalar_type_name(narrow));
}

uint32_t key_word(const Operator& op, const Value* arguments) {
    uint32_t word = 0;
    each_tensor(op, arguments, [&](const TensorImpl* tensor) { word |= key_of(tensor); });
    if (op.has_options) [[unlikely]] {
        if (op.device_position != 0xff) {
            const Value& v = arguments[op.device_position];
            if (v.tag == Value::Tag::Device && is_private(v.device.type)) word |= key::Private;
        }
        if (asked_layout(op, arguments) != Layout::Strided) word |= key::Layout;
        if (is_float8(asked_dtype(op, arguments))) word |= key::Float8;
    }
    // What a Python subclass wraps has no data of its own, and its __torch_dispatch__ comes first.
    if (word & key::Meta && !((word | (thread_state.include & ~thread_state.exclude)) & (key::Dispatch | key::Mode))) [[unlikely]]
        if (!on_meta(op, arguments)) word &= ~static_cast<uint32_t>(key::Meta);
    return word;
}

// operators/forms.cpp
Tensor resolve_lazy_bits(const Tensor& tensor); // conj and neg made real
void write_result(const Tensor& target, const Tensor& result);

static void call_recording(const Operator& op, Value* arguments, Value* results);

/// A call with lazily conjugated or negated arguments for a kernel that does not know of them: it gets copies without the
/// bits, and what it writes to one is written to the original, through the bits. A form made of the functional one (in place
/// or out=) does not know of a bit on what it writes even where the functional kernel reads such arguments itself.
static void call_resolved(const Operator& op, uint32_t word, Value* arguments, Value* results) {
    const bool reads = op.has(trait::KeepsConj), writes = reads && op.functional == &op;
    auto is_lazy = [](const TensorImpl* tensor) { return (tensor->key & (key::Conj | key::Neg)) != 0; };
    struct Written {
        TensorImpl* original;
        Tensor copy;
    };
    std::vector<Tensor> keep;
    std::vector<Written> written;
    std::vector<std::vector<Tensor>> lists;
    Value resolved[64];
    size_t count = op.argument_count();
    for (size_t i = 0; i < count; i++) resolved[i] = arguments[i];
    for (int i = 0; i < op.tensor_count; i++) {
        Value& v = resolved[op.tensor_positions[i]];
        bool mutated = op.schema->arguments[op.tensor_positions[i]].mutated;
        if (v.tag != Value::Tag::Tensor || !is_lazy(v.tensor) || (mutated ? writes : reads)) continue;
        keep.push_back(resolve_lazy_bits(Tensor::share(v.tensor)));
        if (mutated) written.push_back({v.tensor, keep.back()});
        v.tensor = keep.back().impl();
    }
    for (int i = 0; i < op.list_count; i++) {
        Value& v = resolved[op.list_positions[i]];
        if (v.tag != Value::Tag::TensorList || reads) continue;
        bool mutated = op.schema->arguments[op.list_positions[i]].mutated;
        std::vector<Tensor> list;
        for (uint32_t j = 0; j < v.size; j++) {
            list.push_back(v.tensors[j].defined() ? resolve_lazy_bits(v.tensors[j]) : Tensor());
            if (mutated && v.tensors[j].impl() != list.back().impl()) written.push_back({v.tensors[j].impl(), list.back()});
        }
        lists.push_back(std::move(list));
        v.tensors = lists.back().data();
    }
    (word & key::Deferred ? call_recording : op.kernel)(op, resolved, results);
    for (const Written& each : written) { // the caller's tensor is the one that was to be written
        Tensor target = Tensor::share(each.original);
        write_result(target, each.copy);
        for (size_t r = 0; r < op.schema->results.size(); r++)
            if (results[r].tag == Value::Tag::Tensor && results[r].tensor == each.copy.impl()) {
                results[r].discard();
                results[r] = Value::own(Tensor(target));
            }
    }
}

constinit thread_local bool in_opaque_kernel = false;

/// Whether the declared check of values passes. It computes the arguments that it names; the others stay deferred.
static bool values_pass(const Operator& op, const Value* arguments) {
    RunNow now;
    try {
        check_values(op, arguments);
        return true;
    } catch (const Error&) {
        return false; // the call itself raises this, or what it finds wrong earlier
    }
}

/// A call while loops are put off. What consists of loops hands them in. Anything else runs at once: what it reads is computed
/// first, and so is what reads what it writes.
static void call_recording(const Operator& op, Value* arguments, Value* results) {
    const Operator& home = *op.functional;
    constexpr uint64_t by_value = trait::Random | trait::ShapeByValue | trait::RaisesByValue | trait::NumberByValue;
    // Scalar bodies raise for integers alone (a division by zero, a negative power).
    bool raises = home.has(by_value) && (home.body != Body::Pointwise ||
                                         any_tensor(op, arguments, [](const TensorImpl* tensor) { return category(tensor->dtype) < 2; }));
    const bool by_rows = home.has(trait::ByRows) && &op == &home;
    if (raises && (home.body == Body::Pointwise || by_rows) && home.value_check && !op.added.load(std::memory_order_relaxed))
        raises = !(by_rows && any_tensor(op, arguments, [](const TensorImpl* tensor) { return tensor->is_meta(); })) && // no values
                 !values_pass(op, arguments);
    const bool records = op.composite || home.body == Body::Composition || op.has(trait::ByLoops) ||
                         (&op == &home && home.has(trait::ByParts)) || (by_rows && !raises) ||
                         (!raises && (home.body == Body::View || home.body == Body::Pointwise || home.loop != LoopKind::None));
    if (records && !op.added.load(std::memory_order_relaxed)) return op.kernel(op, arguments, results);
    for (size_t i = 0; i < op.argument_count(); i++) {
        const Value& v = arguments[i];
        const bool writes = op.schema->arguments[i].mutated;
        if (home.rule && !writes) continue; // what its computing half reads is asked for by run_kernel
        auto settle_one = [&](const TensorImpl* tensor) {
            if (tensor->storage) writes ? tensor->storage->data() : tensor->storage->data_to_read();
        };
        if (v.tag == Value::Tag::Tensor) settle_one(v.tensor);
        else if (v.tag == Value::Tag::TensorList)
            for (uint32_t j = 0; j < v.size; j++)
                if (v.tensors[j].defined()) settle_one(v.tensors[j].impl());
    }
    RunNow now;
    // A program's own operator may do anything.
    struct Opaque {
        bool before = in_opaque_kernel;
        ~Opaque() { in_opaque_kernel = before; }
    } guard;
    in_opaque_kernel = home.body == Body::Kernel && !op.composite && !op.added.load(std::memory_order_relaxed);
    op.kernel(op, arguments, results);
}

static void call_layer(const Operator& op, uint32_t word, Value* arguments, Value* results) {
    if (word & (key::Meta | key::Made) && !(word & (key::Dispatch | key::Mode))) {
        bool meta = (word & key::Meta) != 0, any = meta || any_tensor(op, arguments, [](const TensorImpl*) { return true; });
        MadeOn device(meta ? DeviceType::Meta : any ? DeviceType::CPU : thread_state.made_on);
        return call_layer(op, word & ~static_cast<uint32_t>(key::Meta | key::Made), arguments, results);
    }
    if (word & key::Profile) return call_profiled(op, word, arguments, results);
    if (word & key::Autocast) return call_autocast(op, arguments, results);
    if (word & key::Trace && !(word & key::Wrapped)) return call_traced(op, word, arguments, results); // of mapped calls, what they come to
    if (word & key::Layout && (op.composite || !(word & (key::Dispatch | key::Mode))) && call_sparse_parts(op, arguments, results)) return;
    if (word & key::Wrapped) [[unlikely]] {
        // What is recorded below the newest level is a constant there.
        if (word & (key::Autograd | key::Dual) && call_lifted(op, arguments, results)) return;
        if (op.composite && call_batched(op, arguments, results)) return;
    }
    if (op.composite) return op.kernel(op, arguments, results);
    if (word & key::Dual && call_forward(op, arguments, results)) return;
    if (word & key::Autograd) {
        const AddedKernels* added = op.added.load(std::memory_order_relaxed);
        if (added && added->layers[static_cast<int>(Layer::Autograd)].kernel) [[unlikely]]
            return call_added(op, arguments, results);
        if (thread_state.grad_mode && !thread_state.inference_mode) return call_autograd(op, arguments, results);
        word &= ~static_cast<uint32_t>(key::Autograd);
    }
    if (word & key::Wrapped && call_batched(op, arguments, results)) return;
    if (word & (key::Dispatch | key::Mode)) return call_python_dispatch(op, arguments, results);
    if ((word & (key::Conj | key::Neg)) && op.body != Body::View && !(op.has(trait::KeepsConj) && op.functional == &op))
        return call_resolved(op, word, arguments, results);
    if (word & key::Float8 && op.body != Body::View && !op.has(trait::TakesFloat8)) refuse_float8(op, arguments);
    if (word & key::Layout) return call_sparse(op, arguments, results);
    if (word & key::Private) return call_private(op, arguments, results);
    if (word & key::Deferred) return call_recording(op, arguments, results);
    op.kernel(op, arguments, results);
}

/// A layer may raise after the kernel has answered (a hook that packs a result): nobody takes the answer then.
void call_layers(const Operator& op, uint32_t word, Value* arguments, Value* results) {
    if (word == key::Deferred) return call_recording(op, arguments, results);
    try {
        call_layer(op, word, arguments, results);
    } catch (...) {
        for (size_t r = 0; r < op.schema->results.size(); r++) results[r].discard();
        throw;
    }
}

void call_by_name(const char* name, const char* overload, std::atomic<const Operator*>& found, Value* arguments, Value* results) {
    const Operator* op = found.load(std::memory_order_relaxed);
    if (!op) {
        op = find_operator(name, overload);
        KINDLING_CHECK(NotImplemented, op, "this build has no operator %s.%s", name, overload);
        found.store(op, std::memory_order_relaxed);
    }
    call(*op, arguments, results);
}

} // namespace kindling
