// bindings/parse.h: Python arguments -> boxed values, driven by the operators' schemas.
#pragma once
#include "bindings/python.h"
#include "bindings/reuse.h"
#include "core/dispatch.h"

namespace kindling::python {

/// Memory for one call's lists, on the stack unless the call is unusual.
class Arena {
public:
    Arena() = default;
    Arena(const Arena&) = delete;
    ~Arena();
    template <class T> T* get(size_t count) { return static_cast<T*>(bytes(count * sizeof(T))); }
    /// Keeps a temporary tensor alive until the call is over.
    TensorImpl* keep(Tensor tensor);

private:
    struct Block {
        Block* next;
    };
    struct Kept {
        Kept* next;
        TensorImpl* tensor;
    };
    void* bytes(size_t size) {
        size = (size + 15) & ~size_t{15};
        if (used_ + size <= sizeof(inline_)) {
            void* at = inline_ + used_;
            used_ += size;
            return at;
        }
        return more(size);
    }
    void* more(size_t size);
    Block* blocks_ = nullptr;
    Kept* kept_ = nullptr;
    size_t used_ = 0;
    alignas(16) char inline_[512];
};

enum class Fit : uint8_t { Yes, No, Raised };

/// One parameter as Python names it.
struct Parameter {
    const Argument* argument;
    PyObject* name;                 // interned; "input" for a function's self
    const char* synonyms = nullptr; // " axis ": other names
    uint8_t place;                  // in the schema
    bool numbers;                   // a Python number may stand for a tensor
};

/// One overload's Python signature.
struct Signature {
    const Operator* op;
    Parameter* parameters; // self first, then the others in order; without out=
    uint8_t count;
    uint8_t positional;
    uint8_t required;
    uint8_t out_count;
    uint8_t out_places[8];
    uint8_t unreduced;           // where a reduction=Mean is; its default in Python is 0, none, as in torch
    bool has_self;               // parameters[0] is `self`
    bool numbers;                // a Python number may stand for a tensor
    bool numbers_beside;         // ... but not for all of them
    bool varargs;                // x.view(2, 3)
    bool factory;                // takes requires_grad=, pin_memory=
    bool factory_out;            // an out= form of a factory: takes dtype= and so on, and ignores them
    bool of_ops;                 // a function of torch.ops: out= may be given by the schema's names, flags are the truth of anything
    bool makes_tensor;           // no tensor argument: the default device applies
    bool none_for_out;           // has an out= form, so it takes out=None
    const Signature* functional; // of an out form: the one whose text errors show
};

struct Overloads {
    const char* name; // as Python shows it
    Signature* signatures;
    int count;
    bool any_out;
    bool of_ops;        // functions of torch.ops
    uint8_t self_first; // methods: self was bound
};

/// Signatures of the operators called `name` for a function in the name space `where`, best match first. Throws when one
/// cannot be loaded.
Overloads* make_overloads(const char* name, const Operator* const* operators, int count, uint32_t where);

/// A call that was understood.
struct Call {
    const Signature* signature = nullptr;
    bool overloaded = false; // an argument has __torch_function__
    bool requires_grad = false;
    bool out_given = false;
    union {
        Value values[40];
    }; // as many as the schema has arguments; the rest is never touched
    Arena arena;
    Call() {}
    ~Call() {}
};

/// Understands a call. False with a Python error set. `self` (of methods) is args[0].
bool parse_call(const Overloads& overloads, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Call& call);
/// One value for one argument of a schema, as operators registered by Python give back. Throws.
Fit convert(const Argument& argument, PyObject* object, Value& value, Arena& arena, bool numbers);
/// Runs a call and gives its results to Python. Null with an error set.
PyObject* run_call(Call& call, Caller caller);
PyObject* results_to_python(const Operator& op, Value* results);
/// "(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)".
std::string signature_text(const Signature& signature, bool any_out);

/// While a program is traced: the number at `slot` of the call to come is that of a tensor (trace.cpp).
void note_traced_number(PyObject* tensor, const void* slot);
inline void note_number(PyObject* object, const void* slot) {
    if (!PyLong_CheckExact(object) && is_traced()) [[unlikely]]
        note_traced_number(object, slot);
}

/// While sizes are recorded (core/size.h): whether an object is a SymInt of who records, and what it stands for; whether one of a list is,
/// and then the list as a value.
bool symbol_of(PyObject* object, Size& size);
bool symbols_of(PyObject* const* items, Py_ssize_t count, Value& value, Arena& arena);

/// Reads one int from a Python int, NumPy integer, 0-d integer tensor or object with __index__.
Fit int_of_object(PyObject* object, int64_t& value);
/// For native methods: sizes given as x.view(2, 3) or x.view((2, 3)). Raises.
bool sizes_of_arguments(const char* function, const char* name, PyObject* const* args, Py_ssize_t nargs, Sizes& sizes);

/// Where new tensors of this thread are made when no device is given: by torch.set_default_device, or `with device:`.
struct DefaultDevice {
    Device device;
    bool set = false;
};
extern constinit thread_local DefaultDevice default_device __attribute__((tls_model("initial-exec")));

/// An operator that native code of the binding calls; looked up once.
struct Known {
    const char* name;
    const char* overload;
    const Operator* op;
    bool absent = false;
    /// Whether there is such an operator.
    bool look();
    const Operator& get() {
        if (!op) find();
        return *op;
    }
    void find();
    /// One tensor result.
    template <class... A> Tensor operator()(const A&... arguments) {
        const Operator& o = get();
        union Slots {
            Value values[40];
            Slots() {}
        } slots;
        Value* values = slots.values;
        size_t count = 0;
        ((values[count++] = Value(arguments)), ...);
        const auto& schema = o.schema->arguments;
        for (size_t i = count; i < schema.size(); i++) values[i] = schema[i].default_value;
        Value results[8];
        call(o, values, results);
        return results[0].take_tensor();
    }
};

} // namespace kindling::python
