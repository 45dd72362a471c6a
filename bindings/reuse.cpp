// bindings/reuse.cpp: results in the memory of operands that nobody will read again.
//
// A reference count of one does not say enough: compiled code (Cython's, say) may hold that one reference and read the tensor
// afterwards. It is the interpreter's only if the interpreter called us directly, which the frames above tell. Walking them
// takes a microsecond or two, so small results do without, as NumPy's, which has done the same since 1.13
// (numpy/_core/src/multiarray/temp_elide.c).
#include "bindings/reuse.h"

#include <dlfcn.h>
#include <unwind.h>

#include <atomic>

#include "operators/forms.h"

extern "C" {
extern const char __ehdr_start __attribute__((visibility("hidden"))); // the linker's: where this library lies
extern const char _end __attribute__((visibility("hidden")));
}

namespace kindling::python {

/// Less than this stays in the caches anyway, and its pass is not much longer than the walk.
constexpr size_t least_bytes = 512 * 1024;

namespace {

bool is_any_of(uintptr_t function, std::initializer_list<void*> functions) {
    for (void* one : functions)
        if (function == reinterpret_cast<uintptr_t>(one)) return true;
    return false;
}

/// What the interpreter's loop calls to evaluate a sign; the slot is called by it, or by one more function of CPython's.
bool evaluates_sign(uintptr_t function, uintptr_t below) {
    static constinit std::atomic<uintptr_t> known{0}; // binary_op1, found once
    if (!is_any_of(function, {reinterpret_cast<void*>(PyNumber_Add), reinterpret_cast<void*>(PyNumber_Subtract),
                              reinterpret_cast<void*>(PyNumber_Multiply), reinterpret_cast<void*>(PyNumber_TrueDivide),
                              reinterpret_cast<void*>(PyNumber_And), reinterpret_cast<void*>(PyNumber_Or),
                              reinterpret_cast<void*>(PyNumber_Xor), reinterpret_cast<void*>(PyNumber_Negative)}))
        return false;
    if (!below || below == known.load(std::memory_order_relaxed)) return true;
    Dl_info here, there; // a slot of somebody else's type may hand its operands on to ours: not known what it does afterwards
    if (!dladdr(reinterpret_cast<void*>(function), &here) || !dladdr(reinterpret_cast<void*>(below), &there) ||
        here.dli_fbase != there.dli_fbase)
        return false;
    known.store(below, std::memory_order_relaxed);
    return true;
}

struct Walk {
    int count = 0;          // of frames that are neither ours nor the loop's
    uintptr_t functions[2]; // theirs, from ours outwards
    Caller caller;
    bool found = false;
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* walk_) {
    auto& walk = *static_cast<Walk*>(walk_);
    const uintptr_t function = _Unwind_GetRegionStart(context);
    if (function - reinterpret_cast<uintptr_t>(&__ehdr_start) < static_cast<uintptr_t>(&_end - &__ehdr_start)) return _URC_NO_REASON;
    if (function != reinterpret_cast<uintptr_t>(_PyEval_EvalFrameDefault)) {
        if (walk.count == 2) return _URC_END_OF_STACK;
        walk.functions[walk.count++] = function;
        return _URC_NO_REASON;
    }
    if (walk.count == 0) walk.found = true;
    else if (walk.caller == Caller::Sign)
        walk.found = evaluates_sign(walk.functions[walk.count - 1], walk.count == 2 ? walk.functions[0] : 0);
    else walk.found = walk.count == 1 && is_any_of(walk.functions[0], {reinterpret_cast<void*>(PyObject_Vectorcall)});
    return _URC_END_OF_STACK;
}

bool interpreter_calls([[maybe_unused]] Caller caller) {
#if PY_VERSION_HEX < 0x030e0000
    Walk walk{};
    walk.caller = caller;
    _Unwind_Backtrace(step, &walk);
    return walk.found;
#else
    return false; // the stack borrows references from variables there: a count of one says nothing
#endif
}

/// Nothing but one Python object leads to the tensor and its memory, and nothing but `references` to that.
bool is_alone(const TensorImpl* impl, Py_ssize_t references) {
    const auto* object = static_cast<const TensorObject*>(impl->python);
    if (!object || Py_REFCNT(const_cast<TensorObject*>(object)) != references || impl->owns_python) return false;
    if (Py_TYPE(object) != tensor_type || object->weak_references || impl->use_count() != 1) return false;
    if (impl->autograd || impl->base || impl->own_version) return false;
    const Storage& storage = *impl->storage;
    return storage.owners() == 1 && !storage.deleter && !storage.python && !storage.exported && !storage.shared && storage.resizable &&
           !storage.counters;
}

} // namespace

void call_over(const Operator& op, Value* values, Value* results, Caller caller) {
    if (op.kernel != pointwise_kernel || caller == Caller::Unknown) return call(op, values, results);
    for (int i = 0; i < op.tensor_count; i++) {
        const Value& value = values[op.tensor_positions[i]];
        if (!value.is_tensor() || value.tensor->storage->bytes < least_bytes) continue;
        Py_ssize_t on_the_stack = 0;
        for (int j = 0; j < op.tensor_count; j++) {
            const Value& other = values[op.tensor_positions[j]];
            on_the_stack += other.is_tensor() && other.tensor == value.tensor;
        }
        if (!is_alone(value.tensor, on_the_stack)) continue;
        if ((key_word(op, values) | thread_state.include) & ~thread_state.exclude & key::slow || !interpreter_calls(caller)) break;
        thread_state.reusable = value.tensor; // the kernel takes it first of all
        break;
    }
    call(op, values, results);
}

} // namespace kindling::python
