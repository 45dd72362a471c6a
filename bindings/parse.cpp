// bindings/parse.cpp: Python arguments to boxed values by schema, with torch's coercions and error texts.
#include "bindings/parse.h"

#include <new>

#include "core/shape.h"

namespace kindling::python {

constinit thread_local DefaultDevice default_device __attribute__((tls_model("initial-exec")));

Arena::~Arena() {
    while (kept_) {
        release(kept_->tensor);
        kept_ = kept_->next;
    }
    while (blocks_) {
        Block* next = blocks_->next;
        ::operator delete(blocks_);
        blocks_ = next;
    }
}

void* Arena::more(size_t size) {
    Block* block = static_cast<Block*>(::operator new(size + 16));
    block->next = blocks_;
    blocks_ = block;
    return reinterpret_cast<char*>(block) + 16;
}

TensorImpl* Arena::keep(Tensor tensor) {
    Kept* kept = get<Kept>(1);
    kept->next = kept_;
    kept->tensor = tensor.take();
    kept_ = kept;
    return kept->tensor;
}

void Known::find() {
    if (!look()) fail(ErrorKind::NotImplemented, "aten::%s%s%s is not implemented", name, *overload ? "." : "", overload);
}

bool Known::look() {
    if (!op && name && !absent) {
        op = find_operator(name, overload);
        absent = !op;
    }
    return op;
}

// ---- one value

static bool is_int_like(PyObject* object) {
    if (PyLong_Check(object)) return !PyBool_Check(object);
    if (PyFloat_Check(object) || PyUnicode_Check(object) || PyTuple_Check(object) || PyList_Check(object) || object == Py_None)
        return false;
    if (is_tensor(object)) {
        TensorImpl* impl = impl_of(object);
        return impl->ndim == 0 && is_integral(impl->dtype) && !(key_of(impl) & key::Autograd);
    }
    return PyIndex_Check(object) && !PyBool_Check(object) && !is_device(object);
}

/// Whether an object is a tensor of one integer, in any number of dimensions: a number in a list, as torch takes it. One of bool is a
/// number too, but no size.
static bool is_size_tensor(PyObject* object, bool flag = false) {
    if (!is_tensor(object)) return false;
    TensorImpl* impl = impl_of(object);
    return impl->numel == 1 && (is_integral(impl->dtype) || (flag && impl->dtype == DType::Bool)) && !(key_of(impl) & key::Autograd);
}

static inline Fit int_of_long(PyObject* object, int64_t& value) {
    value = PyLong_AsLongLong(object);
    if (value != -1 || !PyErr_Occurred()) [[likely]]
        return Fit::Yes;
    PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
    return Fit::Raised;
}

Fit int_of_object(PyObject* object, int64_t& value) {
    if (PyLong_CheckExact(object)) [[likely]]
        return int_of_long(object, value);
    if (!is_int_like(object)) return Fit::No;
    if (is_tensor(object)) {
        value = tensor_of(object).item_scalar().to_int();
        return Fit::Yes;
    }
    PyObject* index = PyNumber_Index(object);
    if (!index) return Fit::Raised;
    Fit fit = PyLong_Check(index) ? int_of_long(index, value) : Fit::No;
    Py_DECREF(index);
    return fit;
}

static bool is_size_like(PyObject* object, bool flag) { return is_int_like(object) || is_size_tensor(object, flag); }

static Fit size_of_object(PyObject* object, int64_t& value, bool flag = false) {
    Fit fit = int_of_object(object, value);
    if (fit != Fit::No || !is_size_tensor(object, flag)) return fit;
    value = tensor_of(object).item_scalar().to_int();
    return Fit::Yes;
}

/// The error of an int in a list that is too large, with its place.
static Fit refuse_item(const char* function, const char* argument, Py_ssize_t place, PyObject* item) {
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError,
                     "%s%sargument '%s' failed to unpack the object at pos %zd with error \"type must be tuple of ints,but got %s\"",
                     function, *function ? "(): " : "", argument, place + 1, Py_TYPE(item)->tp_name);
    else if (PyErr_ExceptionMatches(PyExc_ValueError))
        PyErr_Format(PyExc_TypeError,
                     "%s%sargument '%s' failed to unpack the object at pos %zd with error \"Overflow when unpacking long long\"", function,
                     *function ? "(): " : "", argument, place + 1);
    return Fit::Raised;
}

static bool has_torch_function(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyUnicode_Type || type == &PyList_Type ||
        type == &PyTuple_Type || object == Py_None || type == &PyComplex_Type || type == &PyDict_Type)
        return false;
    static PyObject* name = nullptr;
    if (!name) name = PyUnicode_InternFromString("__torch_function__");
    return _PyType_Lookup(type, name) != nullptr;
}

static Value value_of(const Scalar& scalar) { return Value(scalar); }

static Fit number_of_tensor(PyObject* object, Value& value) {
    TensorImpl* impl = impl_of(object);
    if (impl->ndim != 0 || (key_of(impl) & key::Autograd)) return Fit::No;
    value = value_of(tensor_of(object).item_scalar());
    return Fit::Yes;
}

static Fit convert_ints(const Argument& argument, PyObject* object, Value& value, Arena& arena) {
    PyObject* const* items;
    Py_ssize_t size;
    if (PyTuple_Check(object)) {
        items = &PyTuple_GET_ITEM(object, 0);
        size = PyTuple_GET_SIZE(object);
    } else if (PyList_Check(object)) {
        size = PyList_GET_SIZE(object);
        items = reinterpret_cast<PyListObject*>(object)->ob_item;
    } else {
        if (argument.list_size == 0) return Fit::No;
        if (Size of; thread_state.sizes && symbol_of(object, of)) [[unlikely]] {
            std::vector<PyObject*> same(static_cast<size_t>(argument.list_size), object);
            if (symbols_of(same.data(), argument.list_size, value, arena)) return Fit::Yes;
        }
        int64_t single;
        Fit fit = size_of_object(object, single, !argument.symbolic);
        if (fit != Fit::Yes) return fit;
        int64_t* ints = arena.get<int64_t>(static_cast<size_t>(argument.list_size));
        for (int i = 0; i < argument.list_size; i++) {
            ints[i] = single;
            note_number(object, ints + i);
        }
        value = Value(IntList(ints, static_cast<size_t>(argument.list_size)));
        return Fit::Yes;
    }
    if (thread_state.sizes && symbols_of(items, size, value, arena)) [[unlikely]]
        return Fit::Yes;
    int64_t* ints = arena.get<int64_t>(static_cast<size_t>(size) + 1);
    for (Py_ssize_t i = 0; i < size; i++) {
        Fit fit = size_of_object(items[i], ints[i], !argument.symbolic);
        if (fit == Fit::Yes) {
            note_number(items[i], ints + i);
            continue;
        }
        if (fit == Fit::No && i == 0) return fit;
        return refuse_item("", argument.name, i, items[i]);
    }
    value = Value(IntList(ints, static_cast<size_t>(size)));
    return Fit::Yes;
}

static Fit convert_tensors(const Argument& argument, PyObject* object, Value& value, Arena& arena) {
    PyObject* const* items;
    Py_ssize_t size;
    if (PyTuple_Check(object)) {
        items = &PyTuple_GET_ITEM(object, 0);
        size = PyTuple_GET_SIZE(object);
    } else if (PyList_Check(object)) {
        size = PyList_GET_SIZE(object);
        items = reinterpret_cast<PyListObject*>(object)->ob_item;
    } else {
        return Fit::No;
    }
    TensorImpl** tensors = arena.get<TensorImpl*>(static_cast<size_t>(size) + 1);
    for (Py_ssize_t i = 0; i < size; i++) {
        if (is_tensor(items[i])) tensors[i] = impl_of(items[i]);
        else if (argument.optional_items && items[i] == Py_None) tensors[i] = nullptr;
        else if (has_torch_function(items[i])) tensors[i] = nullptr;
        else {
            PyErr_Format(PyExc_TypeError, "expected Tensor as element %zd in argument 0, but got %s", i, Py_TYPE(items[i])->tp_name);
            return Fit::Raised;
        }
    }
    value = Value(TensorList(reinterpret_cast<Tensor*>(tensors), static_cast<size_t>(size)));
    return Fit::Yes;
}

static Fit convert_list(const Argument& argument, PyObject* object, Value& value, Arena& arena) {
    if (argument.type == Type::Int) return convert_ints(argument, object, value, arena);
    if (argument.type == Type::Tensor) return convert_tensors(argument, object, value, arena);
    bool tuple = PyTuple_Check(object);
    if (!tuple && !PyList_Check(object)) {
        if (argument.list_size == 0) return Fit::No;
        Argument single = argument; // bool[2] from one bool
        single.list = false;
        Value each;
        Fit fit = convert(single, object, each, arena, false);
        if (fit != Fit::Yes) return fit;
        size_t size = static_cast<size_t>(argument.list_size);
        if (argument.type == Type::Bool) {
            bool* bools = arena.get<bool>(size);
            for (size_t i = 0; i < size; i++) bools[i] = each.integer;
            value = Value(Span<bool>(bools, size));
            return Fit::Yes;
        }
        if (argument.type == Type::Float) {
            double* floats = arena.get<double>(size);
            for (size_t i = 0; i < size; i++) floats[i] = each.real;
            value = Value(Span<double>(floats, size));
            return Fit::Yes;
        }
        return Fit::No;
    }
    size_t size = static_cast<size_t>(tuple ? PyTuple_GET_SIZE(object) : PyList_GET_SIZE(object));
    auto item = [&](size_t i) {
        return tuple ? PyTuple_GET_ITEM(object, static_cast<Py_ssize_t>(i)) : PyList_GET_ITEM(object, static_cast<Py_ssize_t>(i));
    };
    switch (argument.type) {
    case Type::Float: {
        double* floats = arena.get<double>(size + 1);
        for (size_t i = 0; i < size; i++) {
            Scalar scalar;
            if (is_tensor(item(i)) && impl_of(item(i))->numel == 1) scalar = tensor_of(item(i)).item_scalar();
            else if (!scalar_of_object(item(i), scalar) || scalar.is_complex()) return Fit::No;
            floats[i] = scalar.to_double();
        }
        value = Value(Span<double>(floats, size));
        return Fit::Yes;
    }
    case Type::Bool: {
        bool* bools = arena.get<bool>(size + 1);
        for (size_t i = 0; i < size; i++) {
            if (!PyBool_Check(item(i))) return Fit::No;
            bools[i] = item(i) == Py_True;
        }
        if (argument.list_size && size != static_cast<size_t>(argument.list_size)) return Fit::No; // a mask has its length
        value = Value(Span<bool>(bools, size));
        return Fit::Yes;
    }
    case Type::Scalar: {
        Scalar* scalars = arena.get<Scalar>(size + 1);
        for (size_t i = 0; i < size; i++) {
            new (scalars + i) Scalar();
            if (!scalar_of_object(item(i), scalars[i])) return Fit::No; // no tensor: a list of those has an overload, and gradients
        }
        value = Value(Span<Scalar>(scalars, size));
        return Fit::Yes;
    }
    case Type::Text: {
        Text* texts = arena.get<Text>(size + 1);
        for (size_t i = 0; i < size; i++) {
            Py_ssize_t length;
            const char* text = PyUnicode_Check(item(i)) ? PyUnicode_AsUTF8AndSize(item(i), &length) : nullptr;
            if (!text) return PyErr_Occurred() ? Fit::Raised : Fit::No;
            new (texts + i) Text(text, static_cast<size_t>(length));
        }
        value = Value();
        value.tag = Value::Tag::TextList;
        value.size = static_cast<uint32_t>(size);
        value.texts = texts;
        return Fit::Yes;
    }
    default: return Fit::No;
    }
}

bool layout_of_object(PyObject* object, Layout& layout);
bool memory_format_of_object(PyObject* object, MemoryFormat& format);

Fit convert(const Argument& argument, PyObject* object, Value& value, Arena& arena, bool numbers) {
    if (argument.list) {
        // torch shows an empty list as None where it is the default.
        if (object == Py_None &&
            (argument.optional || (argument.default_value.tag == Value::Tag::IntList && argument.default_value.size == 0))) {
            value = argument.optional ? Value() : argument.default_value;
            return Fit::Yes;
        }
        return convert_list(argument, object, value, arena);
    }
    if (argument.type == Type::Tensor) {
        if (is_tensor(object)) [[likely]] {
            value = Value(impl_of(object));
            return Fit::Yes;
        }
        if (object == Py_None) {
            value = Value();
            return argument.optional ? Fit::Yes : Fit::No;
        }
        if (numbers && !argument.mutated) {
            Scalar scalar;
            if (scalar_of_object(object, scalar)) {
                value = value_of(scalar);
                value.wrapped = true;
                return Fit::Yes;
            }
            if (Size size; symbol_of(object, size)) {
                value = Value(size);
                value.wrapped = true;
                return Fit::Yes;
            }
        }
        if (has_torch_function(object)) {
            value = Value();
            return Fit::Yes;
        }
        return Fit::No;
    }
    if (object == Py_None && argument.type != Type::Any) {
        value = Value();
        return argument.optional ? Fit::Yes : Fit::No;
    }
    switch (argument.type) {
    case Type::Scalar: {
        Scalar scalar;
        if (scalar_of_object(object, scalar)) {
            value = value_of(scalar);
            return Fit::Yes;
        }
        if (Size size; symbol_of(object, size)) {
            value = Value(size);
            return Fit::Yes;
        }
        if (!is_tensor(object)) return Fit::No;
        note_number(object, &value);
        return number_of_tensor(object, value);
    }
    case Type::Int: {
        if (Size size; thread_state.sizes && symbol_of(object, size)) [[unlikely]] {
            value = Value(size);
            return Fit::Yes;
        }
        int64_t integer;
        Fit fit = argument.symbolic ? size_of_object(object, integer) : int_of_object(object, integer);
        if (fit == Fit::Yes) {
            value = Value(integer);
            note_number(object, &value);
        }
        return fit;
    }
    case Type::Float: {
        if (PyFloat_Check(object)) {
            value = Value(PyFloat_AS_DOUBLE(object));
            return Fit::Yes;
        }
        if (PyLong_Check(object) && !PyBool_Check(object)) { // however large
            double real = PyLong_AsDouble(object);
            if (real == -1 && PyErr_Occurred()) return Fit::Raised;
            value = Value(real);
            return Fit::Yes;
        }
        Scalar scalar;
        if (scalar_of_object(object, scalar)) {
            if (scalar.is_complex()) return Fit::No;
            value = Value(scalar.to_double());
            return Fit::Yes;
        }
        if (!is_tensor(object)) return Fit::No;
        Fit fit = number_of_tensor(object, value);
        if (fit == Fit::Yes) value = Value(value.scalar().to_double());
        note_number(object, &value);
        return fit;
    }
    case Type::Bool:
        if (PyBool_Check(object)) {
            if (object == Py_True && strcmp(argument.name, "pin_memory") == 0) {
                PyErr_SetString(PyExc_RuntimeError, "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
                                                    "allocator is available on this system.");
                return Fit::Raised;
            }
            value = Value(object == Py_True);
            return Fit::Yes;
        }
        if (!PyLong_Check(object) && !PyFloat_Check(object) && !PyComplex_Check(object)) { // numpy.bool_
            Scalar scalar;
            if (scalar_of_object(object, scalar) && scalar.is_bool()) {
                value = Value(scalar.to_bool());
                return Fit::Yes;
            }
        }
        return Fit::No;
    case Type::Text: {
        if (!PyUnicode_Check(object)) return Fit::No;
        Py_ssize_t length;
        const char* text = PyUnicode_AsUTF8AndSize(object, &length);
        if (!text) return Fit::Raised;
        value = Value(Text(text, static_cast<size_t>(length)));
        return Fit::Yes;
    }
    case Type::DType: {
        DType dtype;
        if (!dtype_of_object(object, dtype)) return PyErr_Occurred() ? Fit::Raised : Fit::No;
        value = Value(dtype);
        return Fit::Yes;
    }
    case Type::Device: {
        if (!is_device(object) && !PyUnicode_Check(object) && !(PyLong_Check(object) && !PyBool_Check(object))) return Fit::No;
        Device device;
        if (!device_of_object(object, device)) return Fit::Raised;
        if (device.type == DeviceType::CUDA) {
            PyErr_SetString(PyExc_AssertionError, "Torch not compiled with CUDA enabled");
            return Fit::Raised;
        }
        value = Value(device);
        return Fit::Yes;
    }
    case Type::Layout: {
        Layout layout;
        if (!layout_of_object(object, layout)) return Fit::No;
        value = Value(layout);
        return Fit::Yes;
    }
    case Type::MemoryFormat: {
        MemoryFormat format;
        if (!memory_format_of_object(object, format)) return Fit::No;
        value = Value(format);
        return Fit::Yes;
    }
    case Type::Generator: {
        Generator* generator = generator_of(object);
        if (!generator) return Fit::No;
        value = Value(generator);
        return Fit::Yes;
    }
    case Type::Storage: {
        Storage* storage = storage_of(object);
        if (!storage) return Fit::No;
        value = Value();
        value.tag = Value::Tag::Storage;
        value.storage = storage;
        return Fit::Yes;
    }
    case Type::Any:
        value = Value();
        value.tag = Value::Tag::Python;
        value.python = object;
        return Fit::Yes;
    default: return Fit::No;
    }
}

// ---- signatures

/// torch's list of the functions that take a Python number for any tensor (others have overloads of their own).
static bool takes_numbers(const char* name) {
    static constexpr const char names[] =
        " add sub mul div divide multiply subtract true_divide floor_divide add_ sub_ mul_ div_ divide_ multiply_ subtract_ "
        "true_divide_ floor_divide_ copy_ _to_copy to copy ";
    size_t length = strlen(name);
    for (const char* at = names; (at = strstr(at, name)); at++)
        if (at[-1] == ' ' && at[length] == ' ') return true;
    return false;
}

static bool is_number_type(const Argument& a) { return a.type == Type::Scalar && !a.list; }
static bool is_tensor_type(const Argument& a) { return a.type == Type::Tensor && !a.list; }

/// torch's order: the overload with a tensor comes before the one with a number, lists after single ints. Functions try
/// overloads of different lengths as they are declared; torch.ops has no tensors for numbers where an overload has them.
static bool goes_after(const Signature& a, const Signature& b, bool ops) {
    int n = a.count < b.count ? a.count : b.count;
    if (a.count != b.count && !ops) return false;
    bool after = false;
    for (int i = 0; i < n; i++) {
        const Argument &x = *a.parameters[i].argument, &y = *b.parameters[i].argument;
        if (x.type == y.type && x.list == y.list) continue;
        if (a.count != b.count && !(is_number_type(x) && is_tensor_type(y))) return false;
        bool smaller = ((is_number_type(x) || (x.type == Type::Int && !x.list)) && is_tensor_type(y)) ||
                       (x.type == Type::Int && x.list && y.type == Type::Int && !y.list) || (x.list && x.type == Type::Tensor && y.list);
        if (!smaller) return false;
        after = true;
    }
    return after;
}

/// Other names that an argument goes by, in front of a space each: NumPy's, as torch takes them.
static const char* synonyms_of(const char* name) {
    static constexpr const char* pairs[][2] = {{"dim", " axis "},   {"keepdim", " keepdims "}, {"input", " x a x1 "}, {"other", " x2 "},
                                               {"dim0", " axis0 "}, {"dim1", " axis1 "},       {"src", " other "}};
    for (auto& pair : pairs)
        if (strcmp(pair[0], name) == 0) return pair[1];
    return nullptr;
}

static bool is_synonym(const char* synonyms, PyObject* name) {
    Py_ssize_t length;
    const char* text = synonyms ? PyUnicode_AsUTF8AndSize(name, &length) : nullptr;
    if (!text) {
        PyErr_Clear();
        return false;
    }
    for (const char* at = synonyms; (at = strstr(at, text)); at++)
        if (length && at[-1] == ' ' && at[length] == ' ') return true;
    return false;
}

static bool is_option(const Argument& a) {
    return a.keyword_only && (a.type == Type::DType || a.type == Type::Layout || a.type == Type::Device ||
                              (a.type == Type::Bool && strcmp(a.name, "pin_memory") == 0));
}

static void make_signature(Signature& s, const Operator* op, bool method) {
    const Schema& schema = *op->schema;
    size_t count = schema.arguments.size();
    if (count > 40) fail(ErrorKind::Internal, "aten::%s has too many arguments for the binding", op->name());
    s = Signature();
    s.op = op;
    s.parameters = static_cast<Parameter*>(PyMem_Malloc(sizeof(Parameter) * (count + 1)));
    int self = -1;
    if (method)
        for (size_t i = 0; i < count; i++)
            if (strcmp(schema.arguments[i].name, "self") == 0) self = static_cast<int>(i);
    auto add = [&](size_t i) {
        const Argument& a = schema.arguments[i];
        Parameter& p = s.parameters[s.count++];
        p.argument = &a;
        p.place = static_cast<uint8_t>(i);
        const char* shown = !method && strcmp(a.name, "self") == 0 ? "input" : a.name;
        p.name = PyUnicode_InternFromString(shown);
        p.synonyms = synonyms_of(shown);
        if (!a.keyword_only) s.positional++;
        if (!a.keyword_only && !a.has_default) s.required++;
        else if (a.keyword_only && !a.has_default) s.required++;
    };
    if (self >= 0) {
        add(static_cast<size_t>(self));
        s.has_self = true;
    }
    bool tensors = false;
    for (size_t i = 0; i < count; i++) {
        const Argument& a = schema.arguments[i];
        if (a.out) {
            if (s.out_count < 8) s.out_places[s.out_count++] = static_cast<uint8_t>(i);
            continue;
        }
        if (a.type == Type::Tensor) tensors = true;
        if (static_cast<int>(i) != self) add(i);
    }
    s.makes_tensor = !tensors;
    s.numbers_beside = op->has(trait::TensorOnlyNumbers | trait::NumberLast);
    s.numbers = s.numbers_beside || takes_numbers(op->name());
    int rest = s.positional - s.has_self;
    const Argument* first = s.count > s.has_self ? s.parameters[s.has_self].argument : nullptr;
    s.varargs = rest == 1 && first && first->list && first->type == Type::Int;
    s.factory = schema.factory && !s.out_count;
}

Overloads* make_overloads(const char* name, const Operator* const* operators, int count, uint32_t where) {
    const bool method = where == space::Method;
    auto* result = static_cast<Overloads*>(PyMem_Calloc(1, sizeof(Overloads)));
    result->name = name;
    result->of_ops = where == space::Ops;
    result->signatures = static_cast<Signature*>(PyMem_Calloc(static_cast<size_t>(count) + 1, sizeof(Signature)));
    for (int i = 0; i < count; i++) {
        const Operator* op = operators[i];
        Signature signature;
        make_signature(signature, op, method);
        signature.of_ops = result->of_ops;
        if (!(where & (space::Hidden | space::Ops)) && strstr(op->schema->text, "reduction=Mean"))
            signature.unreduced = static_cast<uint8_t>(op->schema->find("reduction", 9));
        if (method && (!signature.has_self || signature.out_count)) continue; // out= is for functions only
        int at = 0, last = result->count++;                                   // before the first that goes after it, whatever lies between
        while (at < last && !goes_after(result->signatures[at], signature, where == space::Ops)) at++;
        for (int j = last; j > at; j--) result->signatures[j] = result->signatures[j - 1];
        result->signatures[at] = signature;
        result->any_out |= signature.out_count > 0;
    }
    // Where the core has one overload for tensors and numbers ("remainder.Tensor"), it is also the one numbers go to.
    bool number_overload = false;
    for (int i = 0; i < result->count; i++)
        for (int p = 0; p < result->signatures[i].positional; p++)
            number_overload |= is_number_type(*result->signatures[i].parameters[p].argument);
    for (int i = 0; i < result->count && !number_overload; i++) {
        const char* overload =
            result->signatures[i].op->functional ? result->signatures[i].op->functional->overload() : result->signatures[i].op->overload();
        if (!result->signatures[i].numbers && (strcmp(overload, "Tensor") == 0 || strcmp(overload, "Tensor_Tensor") == 0) &&
            result->signatures[i].op->body == Body::Pointwise)
            result->signatures[i].numbers = result->signatures[i].numbers_beside = true;
    }
    for (int i = 0; i < result->count; i++) {
        Signature& s = result->signatures[i];
        for (int p = 0; p < s.count; p++) s.parameters[p].numbers = s.numbers && (p > 0 || !s.op->has(trait::NumberLast));
        if (!s.out_count) continue;
        for (int j = 0; j < result->count; j++) {
            Signature& other = result->signatures[j];
            if (other.out_count || other.op != s.op->functional) continue;
            s.functional = &other;
            other.none_for_out = true;
            s.factory_out = other.op->schema->factory;
        }
    }
    return result;
}

// ---- a call

static bool same_name(PyObject* a, PyObject* b) { return a == b || (b && PyUnicode_Compare(a, b) == 0); }

struct Names {
    PyObject* out = PyUnicode_InternFromString("out");
    PyObject* requires_grad = PyUnicode_InternFromString("requires_grad");
    PyObject* pin_memory = PyUnicode_InternFromString("pin_memory");
    PyObject* names = PyUnicode_InternFromString("names");
};
static const Names& names() {
    static const Names* value = nullptr;
    if (!value) value = new Names;
    return *value;
}

/// What did not fit, for the error's text.
struct Trouble {
    enum class Kind { None, Many, Missing, Unexpected, Twice, Type, OutCount } kind = Kind::None;
    int parameter = -1;       // Type: which; -2 - i: out
    PyObject* name = nullptr; // Unexpected, Twice
    bool keyword = false;
    PyObject* object = nullptr;
};

/// One argument of a call. Functions of torch.ops take for a flag whatever has a truth of its own: numbers, tensors, None.
static Fit convert_argument(const Signature& s, const Parameter& p, PyObject* object, Call& call) {
    Value& value = call.values[p.place];
    const Fit fit = convert(*p.argument, object, value, call.arena, p.numbers);
    if (fit != Fit::No || !s.of_ops || p.argument->type != Type::Bool || p.argument->list) return fit;
    const PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
    if (object != Py_None && !(methods && methods->nb_bool)) return Fit::No;
    const int truth = PyObject_IsTrue(object);
    if (truth < 0) {
        PyErr_Clear();
        return Fit::No;
    }
    return convert(*p.argument, truth ? Py_True : Py_False, value, call.arena, false);
}

static Fit attempt(const Signature& s, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Call& call, Trouble& trouble) {
    const Schema& schema = *s.op->schema;
    size_t all = schema.arguments.size();
    uint64_t given = 0;
    unsigned outs = 0;
    Py_ssize_t used = nargs;
    const bool flags = s.varargs && !s.parameters[s.has_self].argument->symbolic; // tensors of bool are numbers
    if (nargs > s.positional) {
        if (!s.varargs || nargs <= s.has_self || !is_size_like(args[s.has_self], flags)) {
            trouble = {Trouble::Kind::Many};
            return Fit::No;
        }
        used = s.has_self;
    } else if (s.varargs && nargs == s.has_self + 1 && is_size_like(args[s.has_self], flags)) {
        used = s.has_self;
    }
    for (size_t i = 0; i < all; i++) call.values[i] = schema.arguments[i].default_value;
    if (s.unreduced) call.values[s.unreduced] = int64_t{0};
    for (Py_ssize_t i = 0; i < used; i++) {
        const Parameter& p = s.parameters[i];
        Fit fit = convert_argument(s, p, args[i], call);
        if (fit != Fit::Yes) {
            trouble = {Trouble::Kind::Type, static_cast<int>(i), nullptr, false, args[i]};
            return fit;
        }
        given |= uint64_t{1} << i;
    }
    if (used < nargs) {
        size_t size = static_cast<size_t>(nargs - used);
        Value& sizes = call.values[s.parameters[used].place];
        const bool symbols = thread_state.sizes && symbols_of(args + used, nargs - used, sizes, call.arena);
        int64_t* ints = symbols ? nullptr : call.arena.get<int64_t>(size);
        for (size_t i = 0; ints && i < size; i++) {
            Fit fit = size_of_object(args[static_cast<size_t>(used) + i], ints[i], flags);
            if (fit != Fit::Yes)
                return refuse_item(s.op->name(), s.parameters[used].argument->name, static_cast<Py_ssize_t>(i),
                                   args[static_cast<size_t>(used) + i]);
            note_number(args[static_cast<size_t>(used) + i], ints + i);
        }
        if (ints) sizes = Value(IntList(ints, size));
        given |= uint64_t{1} << used;
    }
    Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; k < keywords; k++) {
        PyObject* name = PyTuple_GET_ITEM(kwnames, k);
        PyObject* object = args[nargs + k];
        int found = -1;
        for (int i = 0; i < s.count && found < 0; i++)
            if (s.parameters[i].name == name) found = i;
        for (int i = 0; i < s.count && found < 0; i++)
            if (same_name(name, s.parameters[i].name) || is_synonym(s.parameters[i].synonyms, name)) found = i;
        if (found < 0 && s.has_self == 0 && s.count && strcmp(s.parameters[0].argument->name, "self") == 0 &&
            PyUnicode_CompareWithASCIIString(name, "self") == 0)
            found = 0;
        if (found >= 0) {
            if (found == 0 && s.has_self) {
                trouble = {Trouble::Kind::Unexpected, -1, name};
                return Fit::No;
            }
            if (given >> found & 1) {
                trouble = {Trouble::Kind::Twice, found, name};
                return Fit::No;
            }
            const Parameter& p = s.parameters[found];
            // An explicit None means the default, as torch has it for every option of a factory.
            if (object == Py_None && p.argument->has_default && !p.argument->optional && is_option(*p.argument)) continue;
            Fit fit = convert_argument(s, p, object, call);
            if (fit != Fit::Yes) {
                trouble = {Trouble::Kind::Type, found, name, true, object};
                return fit;
            }
            given |= uint64_t{1} << found;
            continue;
        }
        if (s.of_ops) {
            int out = 0;
            while (out < s.out_count && PyUnicode_CompareWithASCIIString(name, schema.arguments[s.out_places[out]].name)) out++;
            if (out < s.out_count) {
                Fit fit = convert(schema.arguments[s.out_places[out]], object, call.values[s.out_places[out]], call.arena, false);
                if (fit != Fit::Yes) {
                    trouble = {Trouble::Kind::Type, -2 - out, name, true, object};
                    return fit;
                }
                outs |= 1u << out;
                call.out_given = outs == (1u << s.out_count) - 1;
                continue;
            }
        }
        if (same_name(name, names().out)) {
            if (object == Py_None && (s.none_for_out || s.out_count)) continue;
            if (s.out_count == 1) {
                bool single = (PyTuple_Check(object) || PyList_Check(object)) && schema.arguments[s.out_places[0]].list == false &&
                              PySequence_Size(object) == 1;
                PyObject* item = single ? (PyTuple_Check(object) ? PyTuple_GET_ITEM(object, 0) : PyList_GET_ITEM(object, 0)) : object;
                if (single && !is_tensor(item)) item = object;
                Fit fit = convert(schema.arguments[s.out_places[0]], item, call.values[s.out_places[0]], call.arena, false);
                if (fit != Fit::Yes) {
                    trouble = {Trouble::Kind::Type, -2, name, true, object};
                    return fit;
                }
            } else if (s.out_count > 1) {
                bool tuple = PyTuple_Check(object);
                if ((!tuple && !PyList_Check(object)) || PySequence_Size(object) != s.out_count) {
                    trouble = {Trouble::Kind::Type, -2, name, true, object};
                    return Fit::No;
                }
                for (int i = 0; i < s.out_count; i++) {
                    PyObject* item = tuple ? PyTuple_GET_ITEM(object, i) : PyList_GET_ITEM(object, i);
                    Fit fit = convert(schema.arguments[s.out_places[i]], item, call.values[s.out_places[i]], call.arena, false);
                    if (fit != Fit::Yes) {
                        trouble = {Trouble::Kind::Type, -2 - i, name, true, item};
                        return fit;
                    }
                }
            } else {
                trouble = {Trouble::Kind::Unexpected, -1, name};
                return Fit::No;
            }
            call.out_given = true;
            continue;
        }
        if (s.factory || s.factory_out) {
            if (same_name(name, names().requires_grad)) {
                if (!PyBool_Check(object)) {
                    trouble = {Trouble::Kind::Unexpected, -1, name};
                    return Fit::No;
                }
                call.requires_grad = object == Py_True;
                continue;
            }
            if (same_name(name, names().names) && object == Py_None) continue;
            if (s.factory_out &&
                (PyUnicode_CompareWithASCIIString(name, "dtype") == 0 || PyUnicode_CompareWithASCIIString(name, "device") == 0 ||
                 PyUnicode_CompareWithASCIIString(name, "layout") == 0 || same_name(name, names().pin_memory))) {
                DType dtype;
                if (PyUnicode_CompareWithASCIIString(name, "dtype") == 0 && dtype_of_object(object, dtype)) {
                    const Value& out = call.values[s.out_places[0]];
                    if (out.is_tensor() && out.tensor->dtype != dtype) {
                        PyErr_Format(PyExc_RuntimeError, "dtype torch.%s does not match dtype of out parameter (torch.%s)",
                                     kindling::name(dtype), kindling::name(out.tensor->dtype));
                        return Fit::Raised;
                    }
                }
                continue;
            }
        }
        trouble = {Trouble::Kind::Unexpected, -1, name};
        return Fit::No;
    }
    if (s.out_count && !call.out_given) {
        trouble = {Trouble::Kind::Missing, -2};
        return Fit::No;
    }
    for (int i = 0; i < s.count; i++)
        if (!(given >> i & 1) && !s.parameters[i].argument->has_default) {
            trouble = {Trouble::Kind::Missing, i};
            return Fit::No;
        }
    if (s.numbers_beside) {
        bool tensors = false;
        for (int i = 0; i < s.op->tensor_count; i++) tensors |= !call.values[s.op->tensor_positions[i]].is_number();
        if (!tensors) {
            trouble = {Trouble::Kind::Type, 0, nullptr, false, nargs ? args[0] : Py_None};
            return Fit::No;
        }
    }
    if (s.makes_tensor && default_device.set && s.factory)
        for (int i = 0; i < s.count; i++)
            if (s.parameters[i].argument->type == Type::Device && call.values[s.parameters[i].place].is_none())
                call.values[s.parameters[i].place] = Value(default_device.device);
    return Fit::Yes;
}

// ---- errors

static const char* type_name(const Argument& a) {
    switch (a.type) {
    case Type::Tensor: return a.list ? "tuple of Tensors" : "Tensor";
    case Type::Scalar: return a.list ? "tuple of Scalars" : "Number";
    case Type::Int: return a.list ? "tuple of ints" : "int";
    case Type::Float: return a.list ? "tuple of floats" : "float";
    case Type::Bool: return a.list ? "tuple of bools" : "bool";
    case Type::Text: return "str";
    case Type::DType: return "torch.dtype";
    case Type::Layout: return "torch.layout";
    case Type::Device: return "torch.device";
    case Type::MemoryFormat: return "torch.memory_format";
    case Type::Generator: return "torch.Generator";
    case Type::Storage: return "torch.Storage";
    default: return "object";
    }
}

static std::string default_text(const Argument& a) {
    const Value& v = a.default_value;
    switch (v.tag) {
    case Value::Tag::Bool: return v.integer ? "True" : "False";
    case Value::Tag::Int: return std::to_string(v.integer);
    case Value::Tag::Float: {
        std::string text = format("%.12g", v.real);
        return text;
    }
    case Value::Tag::Text: return "\"" + std::string(v.text, v.size) + "\"";
    case Value::Tag::IntList: {
        std::string text = "(";
        for (uint32_t i = 0; i < v.size; i++) text += (i ? ", " : "") + std::to_string(v.integers[i]);
        return text + (v.size == 1 ? ",)" : ")");
    }
    default: return "None";
    }
}

std::string signature_text(const Signature& s, bool any_out) {
    std::string text = "(";
    bool star = false, first = true;
    auto comma = [&] {
        if (!first) text += ", ";
        first = false;
    };
    for (int i = s.has_self; i < s.count; i++) {
        const Argument& a = *s.parameters[i].argument;
        if (a.keyword_only && !star) {
            comma();
            text += "*";
            star = true;
        }
        comma();
        text += type_name(a);
        text += " ";
        text += PyUnicode_AsUTF8(s.parameters[i].name);
        if (a.has_default) text += " = " + default_text(a);
    }
    if (any_out) {
        if (!star) {
            comma();
            text += "*";
        }
        comma();
        text += s.out_count > 1 ? "tuple of Tensors out = None" : "Tensor out = None";
    }
    if (s.factory) {
        comma();
        text += "bool requires_grad = False";
    }
    return text + ")";
}

static const char* shown_type(PyObject* object) {
    return is_tensor(object) && Py_TYPE(object) == tensor_type ? "Tensor" : Py_TYPE(object)->tp_name;
}

static void raise_trouble(const Overloads& overloads, const Signature& s, const Trouble& trouble, Py_ssize_t nargs) {
    const char* name = overloads.name;
    int self = s.has_self;
    int positional = s.positional - self, given = static_cast<int>(nargs) - self;
    int required = 0;
    for (int i = self; i < s.count; i++)
        if (!s.parameters[i].argument->has_default) required++;
    switch (trouble.kind) {
    case Trouble::Kind::Many:
        if (required != positional)
            PyErr_Format(PyExc_TypeError, "%s() takes from %d to %d positional arguments but %d were given", name, required, positional,
                         given);
        else
            PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %d %s given", name, positional,
                         positional == 1 ? "" : "s", given, given == 1 ? "was" : "were");
        return;
    case Trouble::Kind::Missing: {
        if (trouble.parameter < 0) {
            PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional arguments: \"out\"", name);
            return;
        }
        std::string missing;
        int count = 0;
        for (int i = trouble.parameter; i < s.count; i++) {
            if (s.parameters[i].argument->has_default) continue;
            missing += format("%s\"%s\"", count++ ? ", " : "", PyUnicode_AsUTF8(s.parameters[i].name));
        }
        PyErr_Format(PyExc_TypeError, "%s() missing %d required positional arguments: %s", name, count, missing.c_str());
        return;
    }
    case Trouble::Kind::Unexpected:
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", name, trouble.name);
        return;
    case Trouble::Kind::Twice: PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", name, trouble.name); return;
    case Trouble::Kind::Type: {
        if (trouble.parameter <= -2) {
            PyErr_Format(PyExc_TypeError, "%s(): argument 'out' must be %s, not %s", name, s.out_count > 1 ? "tuple of Tensors" : "Tensor",
                         shown_type(trouble.object));
            return;
        }
        const Parameter& p = s.parameters[trouble.parameter];
        if (trouble.keyword)
            PyErr_Format(PyExc_TypeError, "%s(): argument '%U' must be %s, not %s", name, p.name, type_name(*p.argument),
                         shown_type(trouble.object));
        else
            PyErr_Format(PyExc_TypeError, "%s(): argument '%U' (position %d) must be %s, not %s", name, p.name,
                         trouble.parameter - self + 1, type_name(*p.argument), shown_type(trouble.object));
        return;
    }
    default: PyErr_Format(PyExc_TypeError, "%s(): the arguments do not fit", name);
    }
}

static void raise_mismatch(const Overloads& overloads, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
    // Functional and out= forms are one signature in Python.
    const Signature* options[64];
    bool with_out[64];
    int count = 0;
    for (int i = 0; i < overloads.count && count < 64; i++) {
        const Signature& s = overloads.signatures[i];
        if (s.out_count && s.functional) continue;
        bool out = s.out_count > 0;
        for (int j = 0; j < overloads.count; j++) out |= overloads.signatures[j].functional == &s;
        out &= !s.has_self;
        options[count] = &s;
        with_out[count++] = out;
    }
    Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    bool out_given = false;
    for (Py_ssize_t k = 0; k < keywords; k++)
        out_given |= same_name(PyTuple_GET_ITEM(kwnames, k), names().out) && args[nargs + k] != Py_None;
    int chosen = -1, plausible = 0;
    for (int i = 0; i < count; i++) {
        const Signature& s = *options[i];
        int required = 0;
        for (int p = s.has_self; p < s.count; p++) required += !s.parameters[p].argument->has_default;
        Py_ssize_t given = nargs - s.has_self + keywords;
        if (given >= required && given <= s.count - s.has_self + with_out[i] + (s.factory ? 1 : 0)) {
            plausible++;
            chosen = i;
        }
    }
    if (count == 1) chosen = 0, plausible = 1;
    if (plausible == 1) {
        const Signature* s = options[chosen];
        if (out_given)
            for (int j = 0; j < overloads.count; j++)
                if (overloads.signatures[j].functional == s) {
                    s = &overloads.signatures[j];
                    break;
                }
        Call call;
        Trouble trouble;
        Fit fit = attempt(*s, args, nargs, kwnames, call, trouble);
        if (fit == Fit::No) raise_trouble(overloads, *s, trouble, nargs);
        if (fit != Fit::Yes) return;
    }
    std::string text = std::string(overloads.name) + "() received an invalid combination of arguments - got (";
    Py_ssize_t first = count && options[0]->has_self ? 1 : 0;
    std::string got;
    for (Py_ssize_t i = first; i < nargs + keywords; i++) {
        if (i > first) got += ", ";
        if (i >= nargs) got += std::string(PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, i - nargs))) + "=";
        got += shown_type(args[i]);
    }
    text += got + "), but expected ";
    if (count == 1) text += signature_text(*options[0], with_out[0]);
    else {
        text += "one of:\n";
        for (int i = 0; i < count; i++) {
            text += " * " + signature_text(*options[i], with_out[i]) + "\n";
            const Signature& s = *options[i];
            if (keywords || s.count - s.has_self + with_out[i] != nargs - first) continue;
            std::string detail;
            for (int p = s.has_self; p < s.count; p++) {
                Arena arena;
                Value value;
                PyObject* object = args[p];
                Fit fit = p < nargs ? convert(*s.parameters[p].argument, object, value, arena, s.parameters[p].numbers) : Fit::No;
                PyErr_Clear();
                detail += format(fit == Fit::Yes ? "%s%s" : "%s!%s!", p > s.has_self ? ", " : "", shown_type(object));
            }
            text += "      didn't match because some of the arguments have invalid types: (" + detail + ")\n";
        }
    }
    PyErr_SetString(PyExc_TypeError, text.c_str());
}

static bool seen_overloaded(const Call& call) {
    return any_tensor(*call.signature->op, call.values, [](const TensorImpl* tensor) { return (tensor->key & key::Function) != 0; });
}

static bool any_like(PyObject* const* args, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++) {
        if (Py_TYPE(args[i]) == tensor_type) continue;
        if (PyTuple_CheckExact(args[i]) || PyList_CheckExact(args[i])) {
            Py_ssize_t size = PyTuple_CheckExact(args[i]) ? PyTuple_GET_SIZE(args[i]) : PyList_GET_SIZE(args[i]);
            for (Py_ssize_t j = 0; j < size; j++) {
                PyObject* item = PyTuple_CheckExact(args[i]) ? PyTuple_GET_ITEM(args[i], j) : PyList_GET_ITEM(args[i], j);
                if (Py_TYPE(item) == tensor_type) continue;
                if (is_tensor(item) ? (impl_of(item)->key & key::Function) != 0 : has_torch_function(item)) return true;
            }
        } else if (is_tensor(args[i]) ? (impl_of(args[i])->key & key::Function) != 0 : has_torch_function(args[i])) {
            return true;
        }
    }
    return false;
}

static Fit parse_overloads(const Overloads& overloads, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Call& call) {
    bool out_given = false;
    Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (overloads.any_out)
        for (Py_ssize_t k = 0; k < keywords; k++)
            out_given |= same_name(PyTuple_GET_ITEM(kwnames, k), names().out) && args[nargs + k] != Py_None;
    bool only = overloads.count == 1;
    for (int i = 0; i < overloads.count; i++) {
        const Signature& s = overloads.signatures[i];
        if ((s.out_count > 0) != out_given && !only && !overloads.of_ops) continue;
        Trouble trouble;
        if (call.out_given || call.requires_grad) call.out_given = call.requires_grad = false;
        Fit fit = attempt(s, args, nargs, kwnames, call, trouble);
        if (fit == Fit::Yes) {
            call.signature = &s;
            call.overloaded = seen_overloaded(call);
            // Undefined where a tensor belongs: an object that only has __torch_function__.
            if (!call.overloaded && any_like(args, nargs + keywords)) call.overloaded = true;
            return Fit::Yes;
        }
        if (fit == Fit::Raised) {
            if (overloads.count == 1 || !PyErr_ExceptionMatches(PyExc_TypeError)) return Fit::Raised;
            bool last = true;
            for (int j = i + 1; j < overloads.count; j++) last &= (overloads.signatures[j].out_count > 0) != out_given;
            if (last) return Fit::Raised;
            PyErr_Clear();
        }
    }
    return Fit::No;
}

/// The calls that torch deprecated and still takes, their numbers by position: add(input, alpha, other), addcmul(input, value,
/// tensor1, tensor2), addmm(beta, input, alpha, mat1, mat2) and its like, also without alpha.
static bool parse_deprecated(const Overloads& overloads, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Call& call) {
    Text name = overloads.name;
    if (name.ends_with('_')) name.remove_suffix(1);
    const bool sum = name == "add" || name == "sub", ratio = name == "addcmul" || name == "addcdiv",
               method = overloads.signatures[0].has_self;
    const bool alias = name == "subtract" && nargs == 3 &&
                       !(is_tensor(args[1]) &&
                         (impl_of(args[1])->ndim || key_of(impl_of(args[1])) & key::Autograd)); // (input, number, alpha) is no old form
    const bool product = name == "addmm" || name == "addbmm" || name == "addmv" || name == "addr" || name == "baddbmm";
    if (!alias && !(sum ? nargs == 3 : ratio ? nargs == 4 : product && (nargs == 4 || nargs == 5))) return false;
    PyObject* order[8];
    const char* keywords[2] = {sum || alias ? "alpha" : ratio ? "value" : "beta", "alpha"};
    Py_ssize_t count = 0, numbers[2] = {product && !method ? 0 : alias ? 2 : 1, 2}, moved = nargs == 5 ? 2 : 1;
    for (Py_ssize_t i = 0; i < nargs; i++)
        if (i != numbers[0] && (moved < 2 || i != numbers[1])) order[count++] = args[i];
    for (Py_ssize_t i = 0; i < moved; i++) order[count + i] = args[numbers[i]];
    const Py_ssize_t given = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    if (given > 1) return false;
    Object names(checked(PyTuple_New(moved + given)));
    for (Py_ssize_t i = 0; i < moved; i++) PyTuple_SET_ITEM(names.get(), i, checked(PyUnicode_InternFromString(keywords[i])));
    if (given) {
        PyTuple_SET_ITEM(names.get(), moved, Py_NewRef(PyTuple_GET_ITEM(kwnames, 0)));
        order[nargs] = args[nargs];
    }
    if (parse_overloads(overloads, order, count, names.get(), call) != Fit::Yes) {
        PyErr_Clear();
        return false;
    }
    static bool warned = false;
    if (warned || alias) return true;
    warned = true;
    return PyErr_WarnFormat(PyExc_UserWarning, 1, "This overload of %s is deprecated: %s goes by keyword.", overloads.name, keywords[0]) ==
           0;
}

bool parse_call(const Overloads& overloads, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Call& call) {
    Fit fit = parse_overloads(overloads, args, nargs, kwnames, call);
    if (fit == Fit::Yes) [[likely]]
        return true;
    if (fit == Fit::No && !parse_deprecated(overloads, args, nargs, kwnames, call) && !PyErr_Occurred())
        raise_mismatch(overloads, args, nargs, kwnames);
    return !PyErr_Occurred();
}

bool sizes_of_arguments(const char* function, const char* name, PyObject* const* args, Py_ssize_t nargs, Sizes& sizes) {
    PyObject* const* items = args;
    Py_ssize_t size = nargs;
    if (nargs == 1 && PyTuple_Check(args[0])) {
        items = &PyTuple_GET_ITEM(args[0], 0);
        size = PyTuple_GET_SIZE(args[0]);
    } else if (nargs == 1 && PyList_Check(args[0])) {
        items = reinterpret_cast<PyListObject*>(args[0])->ob_item;
        size = PyList_GET_SIZE(args[0]);
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        int64_t value = 0;
        Fit fit = int_of_object(items[i], value);
        if (fit == Fit::Raised) {
            refuse_item(function, name, i, items[i]);
            return false;
        }
        if (fit == Fit::No) {
            PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %zd) must be tuple of ints, not %s", function, name, i + 1,
                         Py_TYPE(items[i])->tp_name);
            return false;
        }
        sizes.push_back(value);
    }
    return true;
}

} // namespace kindling::python
