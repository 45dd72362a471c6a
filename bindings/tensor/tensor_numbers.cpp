// bindings/tensor/tensor_numbers.cpp: arithmetic and comparison operators of Tensor: a + b calls aten::add.Tensor directly.
#include "bindings/tensor/tensor.h"
#include "bindings/types.h"
#include "core/batch.h"
#include "core/shape.h"

namespace kindling::python {

/// One sign: with a tensor on the right, with a number on the right, and what __torch_function__ sees.
struct Sign {
    Known tensor;
    Known number;         // null name: a number goes to `tensor` as a wrapped number
    const char* method;   // Tensor.<method>
    const char* reversed; // what 1 - t shows; null: the same method, arguments turned round
};

static bool is_like(PyObject* object) { // has __torch_function__ and is no tensor
    PyTypeObject* type = Py_TYPE(object);
    if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyComplex_Type || object == Py_None) return false;
    static PyObject* name = nullptr;
    if (!name) name = PyUnicode_InternFromString("__torch_function__");
    return _PyType_Lookup(type, name) != nullptr;
}

static bool number_of(PyObject* object, Value& value) {
    if (PyFloat_CheckExact(object)) {
        value = Value(PyFloat_AS_DOUBLE(object));
        return true;
    }
    Scalar scalar;
    if (scalar_of_object(object, scalar)) {
        value = Value(scalar);
        return true;
    }
    Size size;
    if (!symbol_of(object, size)) return false;
    value = Value(size);
    return true;
}

static PyObject* not_implemented_for_type_error() {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
    PyErr_Clear();
    Py_RETURN_NOTIMPLEMENTED;
}

/// Null without an error: nothing wants to see the call.
static PyObject* ask(const char* method, PyObject* a, PyObject* b) {
    PyObject* function = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), method);
    if (!function) return nullptr;
    PyObject* arguments[] = {a, b};
    PyObject* result = call_torch_function(function, arguments, 2, nullptr);
    Py_DECREF(function);
    return result;
}

static bool overloaded(PyObject* object) { return is_tensor(object) ? wants_torch_function(object) : is_like(object); }

static PyObject* run(const Operator& op, const Value& a, const Value& b) {
    union Slots {
        Value values[8];
        Slots() {}
    } slots;
    slots.values[0] = a;
    slots.values[1] = b;
    const auto& arguments = op.schema->arguments;
    for (size_t i = 2; i < arguments.size() && i < 8; i++) slots.values[i] = arguments[i].default_value;
    Value result;
    call_over(op, slots.values, &result, Caller::Sign);
    return wrap(result.take_tensor());
}

/// self <sign> other, with self a tensor.
static PyObject* forward(Sign& sign, PyObject* self, PyObject* other) {
    if (overloaded(self) || overloaded(other)) [[unlikely]]
        if (PyObject* result = ask(sign.method, self, other); result || PyErr_Occurred()) return result;
    try {
        if (is_tensor(other)) return run(sign.tensor.get(), Value(impl_of(self)), Value(impl_of(other)));
        Value number;
        if (!number_of(other, number)) Py_RETURN_NOTIMPLEMENTED;
        if (sign.number.look()) return run(sign.number.get(), Value(impl_of(self)), number);
        number.wrapped = true;
        return run(sign.tensor.get(), Value(impl_of(self)), number);
    } catch (...) { return set_error(); }
}

#define BINARY(NAME, TENSOR_OP, TENSOR_OVERLOAD, NUMBER_OP, NUMBER_OVERLOAD)                                                               \
    static constinit Sign sign_##NAME = {{TENSOR_OP, TENSOR_OVERLOAD, nullptr}, {NUMBER_OP, NUMBER_OVERLOAD, nullptr}, #NAME, nullptr};

static constexpr const char* none = nullptr;
BINARY(add, "add", "Tensor", none, none)
BINARY(sub, "sub", "Tensor", none, none)
BINARY(mul, "mul", "Tensor", none, none)
BINARY(div, "div", "Tensor", none, none)
BINARY(pow, "pow", "Tensor_Tensor", "pow", "Tensor_Scalar")
BINARY(remainder, "remainder", "Tensor", "remainder", "Scalar")
BINARY(__and__, "bitwise_and", "Tensor", "bitwise_and", "Scalar")
BINARY(__or__, "bitwise_or", "Tensor", "bitwise_or", "Scalar")
BINARY(__xor__, "bitwise_xor", "Tensor", "bitwise_xor", "Scalar")
static constinit Sign sign_floor_divide = {{"floor_divide", "", nullptr}, {none, none, nullptr}, "__floordiv__", nullptr};
static constinit Sign sign_lshift = {
    {"bitwise_left_shift", "Tensor", nullptr}, {"bitwise_left_shift", "Tensor_Scalar", nullptr}, "__lshift__", nullptr};
static constinit Sign sign_rshift = {
    {"bitwise_right_shift", "Tensor", nullptr}, {"bitwise_right_shift", "Tensor_Scalar", nullptr}, "__rshift__", nullptr};
static constinit Sign sign_matmul = {{"matmul", "", nullptr}, {"", "", nullptr}, "matmul", nullptr};

/// number <sign> tensor for signs where the order does not matter.
static PyObject* commuted(Sign& sign, PyObject* a, PyObject* b) { return is_tensor(a) ? forward(sign, a, b) : forward(sign, b, a); }

/// number <sign> tensor: the number becomes a weak 0-d tensor.
static PyObject* backward(Sign& sign, const char* method, Known* scalar_first, PyObject* number_object, PyObject* self) {
    if (overloaded(self) || overloaded(number_object)) [[unlikely]]
        if (PyObject* result = ask(method, self, number_object); result || PyErr_Occurred()) return result;
    try {
        Value number;
        if (!number_of(number_object, number)) Py_RETURN_NOTIMPLEMENTED;
        if (scalar_first && scalar_first->look()) return run(scalar_first->get(), number, Value(impl_of(self)));
        Tensor wrapped = wrap_number(number.scalar());
        return run(sign.tensor.get(), Value(wrapped), Value(impl_of(self)));
    } catch (...) { return set_error(); }
}

static PyObject* nb_add(PyObject* a, PyObject* b) { return commuted(sign_add, a, b); }
static PyObject* nb_multiply(PyObject* a, PyObject* b) { return commuted(sign_mul, a, b); }
static PyObject* nb_and(PyObject* a, PyObject* b) { return commuted(sign___and__, a, b); }
static PyObject* nb_or(PyObject* a, PyObject* b) { return commuted(sign___or__, a, b); }
static PyObject* nb_xor(PyObject* a, PyObject* b) { return commuted(sign___xor__, a, b); }

static PyObject* nb_subtract(PyObject* a, PyObject* b) {
    if (is_tensor(a)) return forward(sign_sub, a, b);
    static constinit Known rsub{"rsub", "Scalar", nullptr};
    if (overloaded(b) || overloaded(a)) [[unlikely]]
        if (PyObject* result = ask("__rsub__", b, a); result || PyErr_Occurred()) return result;
    return guarded([&] {
        Value number;
        if (!number_of(a, number)) Py_RETURN_NOTIMPLEMENTED;
        if (rsub.look()) return run(rsub.get(), Value(impl_of(b)), number);
        static constinit Known rsub_tensor{"rsub", "Tensor", nullptr};
        number.wrapped = true;
        return run(rsub_tensor.get(), Value(impl_of(b)), number);
    });
}
static PyObject* nb_true_divide(PyObject* a, PyObject* b) {
    if (is_tensor(a)) return forward(sign_div, a, b);
    static constinit Known reciprocal{"reciprocal", "", nullptr};
    if (overloaded(b) || overloaded(a)) [[unlikely]]
        if (PyObject* result = ask("__rdiv__", b, a); result || PyErr_Occurred()) return result;
    return guarded([&] { // as torch: self.reciprocal() * other
        Tensor inverse = reciprocal(tensor_of(b));
        Value number;
        if (!number_of(a, number)) { // an array, say
            Object left(wrap(inverse));
            PyObject* product = left ? PyNumber_Multiply(left.get(), a) : nullptr;
            return product ? product : not_implemented_for_type_error();
        }
        number.wrapped = true;
        return run(sign_mul.tensor.get(), Value(inverse), number);
    });
}
static PyObject* nb_floor_divide(PyObject* a, PyObject* b) {
    return is_tensor(a) ? forward(sign_floor_divide, a, b) : backward(sign_floor_divide, "__rfloordiv__", nullptr, a, b);
}
static PyObject* nb_remainder(PyObject* a, PyObject* b) {
    static constinit Known scalar_first{"remainder", "Scalar_Tensor", nullptr};
    return is_tensor(a) ? forward(sign_remainder, a, b) : backward(sign_remainder, "__rmod__", &scalar_first, a, b);
}
static PyObject* nb_power(PyObject* a, PyObject* b, PyObject* modulus) {
    static constinit Known scalar_first{"pow", "Scalar", nullptr};
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return is_tensor(a) ? forward(sign_pow, a, b) : backward(sign_pow, "__rpow__", &scalar_first, a, b);
}
static PyObject* nb_lshift(PyObject* a, PyObject* b) {
    return is_tensor(a) ? forward(sign_lshift, a, b) : backward(sign_lshift, "__rlshift__", nullptr, a, b);
}
static PyObject* nb_rshift(PyObject* a, PyObject* b) {
    return is_tensor(a) ? forward(sign_rshift, a, b) : backward(sign_rshift, "__rrshift__", nullptr, a, b);
}
static PyObject* nb_matrix_multiply(PyObject* a, PyObject* b) {
    if (is_tensor(a) && is_tensor(b)) return forward(sign_matmul, a, b);
    if (is_like(a) || is_like(b)) {
        PyObject* result = is_tensor(a) ? ask("matmul", a, b) : ask("__rmatmul__", b, a);
        if (result || PyErr_Occurred()) return result;
    }
    Py_RETURN_NOTIMPLEMENTED;
}

// ---- one operand

static PyObject* unary(Known& known, const char* method, PyObject* self) {
    if (wants_torch_function(self)) [[unlikely]] {
        PyObject* function = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), method);
        PyObject* result = function ? call_torch_function(function, &self, 1, nullptr) : nullptr;
        Py_XDECREF(function);
        if (result || PyErr_Occurred()) return result;
    }
    return guarded([&] {
        Value value(impl_of(self)), result;
        call_over(known.get(), &value, &result, Caller::Sign);
        return wrap(result.take_tensor());
    });
}
static PyObject* nb_negative(PyObject* self) {
    static constinit Known neg{"neg", "", nullptr};
    return unary(neg, "neg", self);
}
static PyObject* nb_positive(PyObject* self) {
    static constinit Known positive{"positive", "", nullptr};
    return unary(positive, "positive", self);
}
static PyObject* nb_absolute(PyObject* self) {
    static constinit Known abs{"abs", "", nullptr};
    return unary(abs, "abs", self);
}
static PyObject* nb_invert(PyObject* self) {
    static constinit Known bitwise_not{"bitwise_not", "", nullptr};
    if (category(impl_of(self)->dtype) >= 2 && !wants_torch_function(self)) {
        PyErr_SetString(PyExc_TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
        return nullptr;
    }
    return unary(bitwise_not, "__invert__", self);
}

// ---- in place

#define INPLACE(NAME, TENSOR_OP, TENSOR_OVERLOAD, NUMBER_OP, NUMBER_OVERLOAD, METHOD)                                                      \
    static PyObject* nb_inplace_##NAME(PyObject* self, PyObject* other) {                                                                  \
        static constinit Sign sign = {{TENSOR_OP, TENSOR_OVERLOAD, nullptr}, {NUMBER_OP, NUMBER_OVERLOAD, nullptr}, METHOD, nullptr};      \
        return forward(sign, self, other);                                                                                                 \
    }
INPLACE(add, "add_", "Tensor", none, none, "add_")
INPLACE(subtract, "sub_", "Tensor", none, none, "sub_")
INPLACE(multiply, "mul_", "Tensor", none, none, "mul_")
INPLACE(true_divide, "div_", "Tensor", none, none, "div_")
INPLACE(floor_divide, "floor_divide_", "", none, none, "floor_divide_")
INPLACE(remainder, "remainder_", "Tensor", "remainder_", "Scalar", "remainder_")
INPLACE(lshift, "bitwise_left_shift_", "Tensor", "bitwise_left_shift_", "Tensor_Scalar", "__ilshift__")
INPLACE(rshift, "bitwise_right_shift_", "Tensor", "bitwise_right_shift_", "Tensor_Scalar", "__irshift__")
INPLACE(and, "bitwise_and_", "Tensor", "bitwise_and_", "Scalar", "__iand__")
INPLACE(or, "bitwise_or_", "Tensor", "bitwise_or_", "Scalar", "__ior__")
INPLACE(xor, "bitwise_xor_", "Tensor", "bitwise_xor_", "Scalar", "__ixor__")
static PyObject* nb_inplace_power(PyObject* self, PyObject* other, PyObject*) {
    static constinit Sign sign = {{"pow_", "Tensor_Tensor", nullptr}, {"pow_", "Tensor_Scalar", nullptr}, "pow_", nullptr};
    return forward(sign, self, other);
}

// ---- comparisons

PyObject* tensor_compare(PyObject* a, PyObject* b, int op) {
    static constinit Sign signs[6] = {{{"lt", "Tensor", nullptr}, {"lt", "Scalar", nullptr}, "lt", nullptr},
                                      {{"le", "Tensor", nullptr}, {"le", "Scalar", nullptr}, "le", nullptr},
                                      {{"eq", "Tensor", nullptr}, {"eq", "Scalar", nullptr}, "__eq__", nullptr},
                                      {{"ne", "Tensor", nullptr}, {"ne", "Scalar", nullptr}, "ne", nullptr},
                                      {{"gt", "Tensor", nullptr}, {"gt", "Scalar", nullptr}, "gt", nullptr},
                                      {{"ge", "Tensor", nullptr}, {"ge", "Scalar", nullptr}, "ge", nullptr}};
    PyObject* result = forward(signs[op], a, b);
    if (op != Py_EQ || result != Py_NotImplemented) return result;
    Py_DECREF(result);
    Object array(from_numpy(nullptr, b)); // PyTorch takes arrays here, and in no other comparison
    return array ? forward(signs[op], a, array.get()) : not_implemented_for_type_error();
}

// ---- conversions

static PyObject* ask_one(const char* method, PyObject* self) {
    PyObject* function = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), method);
    PyObject* result = function ? call_torch_function(function, &self, 1, nullptr) : nullptr;
    Py_XDECREF(function);
    return result;
}

static int nb_bool(PyObject* self) {
    if (wants_torch_function(self)) [[unlikely]] {
        PyObject* result = ask_one("__bool__", self);
        if (result) {
            int truth = result == Py_NotImplemented ? -1 : PyObject_IsTrue(result);
            Py_DECREF(result);
            return truth;
        }
        if (PyErr_Occurred()) return -1;
    }
    return guarded_int([&] {
        TensorImpl* impl = impl_of(self);
        KINDLING_CHECK(Runtime, impl->numel <= 1, "Boolean value of Tensor with more than one value is ambiguous");
        KINDLING_CHECK(Runtime, impl->numel == 1, "Boolean value of Tensor with no values is ambiguous");
        const Batch* batch = batch_behind(impl);
        KINDLING_CHECK(
            Runtime, !batch || !batch->batched,
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
            "please shout over at https://github.com/pytorch/functorch/issues/257 .");
        if (!refuse_break("refuse_branch", self)) throw_python();
        if (is_traced()) [[unlikely]]
            warn_leaves("Converting a tensor to a Python boolean");
        return tensor_of(self).item_scalar().to_bool() ? 1 : 0;
    });
}

static Scalar single(PyObject* self) {
    TensorImpl* impl = impl_of(self);
    KINDLING_CHECK(Value, impl->numel == 1, "only one element tensors can be converted to Python scalars");
    return tensor_of(self).item_scalar();
}
/// As torch, once in a process: the number leaves the graph, which is seldom meant.
static void warn_about_grad(PyObject* self) {
    static bool warned = false;
    if (warned || !thread_state.grad_mode || !tensor_of(self).requires_grad()) return;
    warned = true;
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                     "Consider using tensor.detach() first.",
                     1) < 0)
        throw_python();
}
static PyObject* nb_int(PyObject* self) {
    if (wants_torch_function(self)) [[unlikely]]
        if (PyObject* result = ask_one("__int__", self); result || PyErr_Occurred()) return result;
    return guarded([&]() -> PyObject* {
        if (is_traced()) [[unlikely]]
            warn_leaves("Converting a tensor to a Python integer");
        Scalar scalar = single(self);
        KINDLING_CHECK(Runtime, !scalar.is_complex(), "value cannot be converted to type int64_t without overflow");
        Object number(checked(scalar_object(scalar)));
        return PyNumber_Long(number.get());
    });
}
static PyObject* nb_float(PyObject* self) {
    if (wants_torch_function(self)) [[unlikely]]
        if (PyObject* result = ask_one("__float__", self); result || PyErr_Occurred()) return result;
    return guarded([&]() -> PyObject* {
        if (is_traced()) [[unlikely]]
            warn_leaves("Converting a tensor to a Python float");
        Scalar scalar = single(self);
        warn_about_grad(self);
        KINDLING_CHECK(Runtime, !scalar.is_complex() || scalar.to_complex().imag() == 0,
                       "value cannot be converted to type double without overflow");
        return PyFloat_FromDouble(scalar.to_double());
    });
}
static PyObject* nb_index(PyObject* self) {
    if (wants_torch_function(self)) [[unlikely]]
        if (PyObject* result = ask_one("__index__", self); result || PyErr_Occurred()) return result;
    return guarded([&]() -> PyObject* {
        TensorImpl* impl = impl_of(self);
        KINDLING_CHECK(Type, impl->numel == 1 && category(impl->dtype) <= 1,
                       "only integer tensors of a single element can be converted to an index");
        if (!refuse_break("refuse_index", self)) throw_python();
        Object number(checked(scalar_object(tensor_of(self).item_scalar())));
        return PyNumber_Long(number.get());
    });
}

constinit PyNumberMethods tensor_numbers = {
    .nb_add = nb_add,
    .nb_subtract = nb_subtract,
    .nb_multiply = nb_multiply,
    .nb_remainder = nb_remainder,
    .nb_divmod = nullptr,
    .nb_power = nb_power,
    .nb_negative = nb_negative,
    .nb_positive = nb_positive,
    .nb_absolute = nb_absolute,
    .nb_bool = nb_bool,
    .nb_invert = nb_invert,
    .nb_lshift = nb_lshift,
    .nb_rshift = nb_rshift,
    .nb_and = nb_and,
    .nb_xor = nb_xor,
    .nb_or = nb_or,
    .nb_int = nb_int,
    .nb_reserved = nullptr,
    .nb_float = nb_float,
    .nb_inplace_add = nb_inplace_add,
    .nb_inplace_subtract = nb_inplace_subtract,
    .nb_inplace_multiply = nb_inplace_multiply,
    .nb_inplace_remainder = nb_inplace_remainder,
    .nb_inplace_power = nb_inplace_power,
    .nb_inplace_lshift = nb_inplace_lshift,
    .nb_inplace_rshift = nb_inplace_rshift,
    .nb_inplace_and = nb_inplace_and,
    .nb_inplace_xor = nb_inplace_xor,
    .nb_inplace_or = nb_inplace_or,
    .nb_floor_divide = nb_floor_divide,
    .nb_true_divide = nb_true_divide,
    .nb_inplace_floor_divide = nb_inplace_floor_divide,
    .nb_inplace_true_divide = nb_inplace_true_divide,
    .nb_index = nb_index,
    .nb_matrix_multiply = nb_matrix_multiply,
    .nb_inplace_matrix_multiply = nullptr,
};

Py_ssize_t tensor_length(PyObject* self) {
    if (wants_torch_function(self)) [[unlikely]] {
        if (PyObject* result = ask_one("__len__", self)) {
            Py_ssize_t size = PyNumber_AsSsize_t(result, PyExc_OverflowError);
            Py_DECREF(result);
            return size;
        }
        if (PyErr_Occurred()) return -1;
    }
    TensorImpl* impl = impl_of(self);
    if (impl->ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
        return -1;
    }
    if (is_traced()) [[unlikely]]
        if (guarded_int([] {
                warn_traced_as("Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be "
                               "tensor.shape[0]. Passing a tensor of different "
                               "shape might lead to errors or silently give incorrect results.");
                return 0;
            }) < 0)
            return -1;
    return impl->shape[0];
}

} // namespace kindling::python
