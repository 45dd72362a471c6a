// bindings/tensor/index.cpp: indexing: views where the index allows it, else aten::index and aten::index_put_; torch's layout and errors.
#include "bindings/tensor/tensor.h"
#include "core/shape.h"

namespace kindling::python {

static constinit Known op_select{"select", "int", nullptr}, op_slice{"slice", "Tensor", nullptr}, op_unsqueeze{"unsqueeze", "", nullptr},
    op_index{"index", "Tensor", nullptr}, op_index_put{"index_put_", "", nullptr}, op_copy{"copy_", "", nullptr},
    op_fill_number{"fill_", "Scalar", nullptr}, op_fill_tensor{"fill_", "Tensor", nullptr}, op_alias{"alias", "", nullptr},
    op_view{"view", "", nullptr}, op_expand{"expand", "", nullptr};

static Tensor select(const Tensor& self, int64_t dim, int64_t index, int64_t shown_dim) {
    TensorImpl* impl = self.impl();
    if (impl->ndim == 0)
        fail(ErrorKind::Index,
             "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor "
             "to a number");
    int64_t size = dim < impl->ndim ? impl->shape[dim] : 0; // a second ellipsis counts dimensions that are not there
    KINDLING_CHECK(Index, index >= -size && index < size, "index %lld is out of bounds for dimension %lld with size %lld",
                   static_cast<long long>(index), static_cast<long long>(shown_dim), static_cast<long long>(size));
    return op_select(self, dim, index);
}

static bool slice_part(PyObject* object, int64_t fallback, int64_t& value) {
    if (object == Py_None) {
        value = fallback;
        return true;
    }
    if (is_tensor(object)) {
        Scalar scalar = tensor_of(object).item_scalar();
        if (!scalar.is_integral()) fail(ErrorKind::Type, "slice indices must be integers or None or have an __index__ method");
        value = scalar.to_int();
        return true;
    }
    if (!PyIndex_Check(object)) fail(ErrorKind::Type, "slice indices must be integers or None or have an __index__ method");
    Py_ssize_t number = PyNumber_AsSsize_t(object, nullptr); // clips what is too large
    if (number == -1 && PyErr_Occurred()) throw_python();
    value = number;
    return true;
}

/// A whole dimension changes nothing, unless a view is asked for all the same. As torch: so is one that is not there (a[..., ..., :1]).
static Tensor slice(const Tensor& self, int64_t dim, PyObject* object, bool view = false) {
    auto* s = reinterpret_cast<PySliceObject*>(object);
    int64_t step, start, stop;
    slice_part(s->step, 1, step);
    KINDLING_CHECK(Value, step != 0, "slice step cannot be zero");
    KINDLING_CHECK(Value, step > 0, "step must be greater than zero");
    slice_part(s->start, 0, start);
    slice_part(s->stop, INT64_MAX, stop);
    if (is_traced()) [[unlikely]] {
        note_traced_place(s->start, 2);
        note_traced_place(s->stop, 3);
        note_traced_place(s->step, 4);
    } else if (!view && step == 1 && start == 0 && (dim < self.dim() ? stop >= self.size(dim) : stop >= 0 && !self.is_meta())) return self;
    return op_slice(self, dim, start, stop, step);
}

static Tensor whole(const Tensor& self) { return op_alias(self); }

/// A list whose items are no plain numbers is taken as a tuple of indices: a[[i, j]] is a[i, j] for tensors, lists, slices.
static bool is_like_tuple(PyObject* key) {
    if (PyTuple_Check(key)) return true;
    if (!PyList_Check(key) || PyList_GET_SIZE(key) >= 32) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); i++) {
        PyObject* item = PyList_GET_ITEM(key, i);
        if (is_tensor(item) || PySlice_Check(item) || item == Py_None || item == Py_Ellipsis || PyList_Check(item) || PyTuple_Check(item))
            return true;
    }
    return false;
}

/// A 1-element index [0] for True, an empty one for False.
static Tensor bool_index(bool value) {
    int64_t size = value ? 1 : 0;
    Tensor index = make_tensor(IntList(&size, 1), DType::Int64);
    if (value) *index.data_ptr<int64_t>() = 0;
    return index;
}

static bool is_index_tensor(PyObject* object) { return is_tensor(object); }
static bool is_sequence(PyObject* object) {
    return PyList_Check(object) ||
           (PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) && !PyTuple_Check(object) && !is_tensor(object));
}

static int64_t dims_of(PyObject* object) {
    if (is_tensor(object)) {
        TensorImpl* impl = impl_of(object);
        return impl->dtype == DType::Bool || impl->dtype == DType::UInt8 ? impl->ndim : 1;
    }
    if (object == Py_None || object == Py_Ellipsis || PyBool_Check(object)) return 0;
    return 1;
}

static Tensor tensor_of_sequence(PyObject* object) {
    // A list of nothing indexes as integers.
    if (PyList_Check(object) && PyList_GET_SIZE(object) == 0) return bool_index(false);
    return tensor_of_data(object, DType::None, true);
}

/// Applies what gives views; the rest goes into `indices` (undefined where a dimension is taken whole).
static Tensor apply(const Tensor& self, PyObject* const* items, Py_ssize_t count, std::vector<Tensor>& indices) {
    Tensor result = self;
    int64_t specified = 0, dim = 0, shown = 0, covered = 0; // covered: dimensions of masks beyond their first
    std::vector<Object> converted(static_cast<size_t>(count));
    auto item = [&](Py_ssize_t i) { return converted[static_cast<size_t>(i)] ? converted[static_cast<size_t>(i)].get() : items[i]; };
    for (Py_ssize_t i = 0; i < count; i++) {
        if (is_sequence(items[i])) converted[static_cast<size_t>(i)] = Object(checked(wrap(tensor_of_sequence(items[i]))));
        else if (PyTuple_Check(items[i])) converted[static_cast<size_t>(i)] = Object(checked(wrap(tensor_of_sequence(items[i]))));
        specified += dims_of(item(i));
    }
    KINDLING_CHECK(Index, specified <= self.dim(), "too many indices for tensor of dimension %lld", static_cast<long long>(self.dim()));
    auto record = [&](Tensor index) {
        const auto place = static_cast<size_t>(dim - covered);
        if (indices.size() <= place) indices.resize(place + 1);
        const bool mask = index.dtype() == DType::Bool || index.dtype() == DType::UInt8;
        const int64_t dims = mask && index.dim() > 1 ? index.dim() : 1;
        indices[place] = static_cast<Tensor&&>(index);
        dim += dims;
        covered += dims - 1;
    };
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject* object = item(i);
        if (PyLong_Check(object) && !PyBool_Check(object)) {
            int64_t index;
            if (int_of_object(object, index) == Fit::Raised) throw_python();
            result = select(result, dim, index, shown++);
        } else if (PySlice_Check(object)) {
            if (result.dim() == 0) fail(ErrorKind::Index, "slice() cannot be applied to a 0-dim tensor.");
            result = slice(result, dim, object);
            dim++;
            shown++;
        } else if (object == Py_Ellipsis) {
            dim += self.dim() - specified;
            shown += self.dim() - specified;
        } else if (object == Py_None) {
            result = op_unsqueeze(result, dim);
            dim++;
        } else if (PyBool_Check(object)) {
            result = op_unsqueeze(result, dim);
            record(bool_index(object == Py_True));
        } else if (is_tensor(object)) {
            Tensor tensor = tensor_of(object);
            bool integral = category(tensor.dtype()) <= 1;
            if (tensor.dim() == 0 && integral && !tensor.is_meta() && Py_TYPE(object) == tensor_type &&
                !(tensor.impl()->key & ::kindling::key::Wrapped)) {
                if (tensor.dtype() != DType::UInt8 && tensor.dtype() != DType::Bool) {
                    if (is_traced()) [[unlikely]]
                        note_traced_place(object, 2);
                    result = select(result, dim, tensor.item_scalar().to_int(), shown++);
                } else {
                    result = op_unsqueeze(result, dim);
                    record(bool_index(tensor.item_scalar().to_bool()));
                }
            } else {
                shown += dims_of(object);
                record(tensor);
            }
        } else {
            int64_t index;
            Fit fit = int_of_object(object, index);
            if (fit == Fit::Raised) throw_python();
            if (fit == Fit::No)
                fail(ErrorKind::Index,
                     "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got %s)",
                     Py_TYPE(object)->tp_name);
            result = select(result, dim, index, shown++);
        }
    }
    return result;
}

static Tensor apply_key(const Tensor& tensor, PyObject* key, std::vector<Tensor>& indices) {
    if (PyTuple_Check(key)) return apply(tensor, &PyTuple_GET_ITEM(key, 0), PyTuple_GET_SIZE(key), indices);
    if (is_like_tuple(key)) return apply(tensor, reinterpret_cast<PyListObject*>(key)->ob_item, PyList_GET_SIZE(key), indices);
    if (PyUnicode_Check(key)) fail(ErrorKind::Type, "new(): invalid data type 'str'");
    return apply(tensor, &key, 1, indices);
}

static Tensor index_with(const Tensor& self, const std::vector<Tensor>& indices) { return op_index(self, TensorList(indices)); }

static PyObject* ask(const char* method, PyObject* self, PyObject* key, PyObject* value = nullptr) {
    PyObject* function = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), method);
    if (!function) return nullptr;
    PyObject* arguments[] = {self, key, value};
    PyObject* result = call_torch_function(function, arguments, value ? 3 : 2, nullptr);
    Py_DECREF(function);
    return result;
}

/// An index with a __torch_function__ that is no tensor, alone or in a tuple, is asked before an error is raised.
[[gnu::cold]] static PyObject* ask_others(const char* method, PyObject* self, PyObject* key, PyObject* value = nullptr) {
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    PyObject* function = PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), method);
    PyErr_Restore(kind, error, trace);
    if (!function) return nullptr;
    PyObject* arguments[] = {self, key, value};
    PyObject* result = ask_other_arguments(function, arguments, value ? 3 : 2, nullptr);
    Py_DECREF(function);
    return result;
}

Tensor index_tensor(PyObject* self, PyObject* key) {
    Tensor tensor = tensor_of(self);
    if (PyLong_CheckExact(key)) {
        int64_t index;
        if (int_of_object(key, index) == Fit::Raised) throw_python();
        return select(tensor, 0, index, 0);
    }
    if (key == Py_None) return op_unsqueeze(tensor, int64_t{0});
    if (key == Py_Ellipsis) return whole(tensor);
    if (PySlice_Check(key)) {
        if (tensor.dim() == 0) fail(ErrorKind::Index, "slice() cannot be applied to a 0-dim tensor.");
        return slice(tensor, 0, key, true);
    }
    std::vector<Tensor> indices;
    Tensor result = apply_key(tensor, key, indices);
    if (indices.empty()) return result.is_same(tensor) ? whole(tensor) : result;
    return index_with(result, indices);
}

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
    if (wants_torch_function(self) || (is_index_tensor(key) && wants_torch_function(key))) [[unlikely]]
        if (PyObject* result = ask("__getitem__", self, key); result || PyErr_Occurred()) return result;
    if (PyObject* result = guarded([&] { return wrap(index_tensor(self, key)); })) [[likely]]
        return result;
    return ask_others("__getitem__", self, key);
}

/// `value` without leading dimensions of size 1 that `dims` has no room for.
static Tensor strip_ones(const Tensor& value, int64_t dims) {
    int64_t skip = 0;
    while (value.dim() - skip > dims && value.sizes()[static_cast<size_t>(skip)] == 1) skip++;
    if (!skip) return value;
    return op_view(value, IntList(value.sizes().data() + skip, static_cast<size_t>(value.dim() - skip)));
}

/// Items are int64 before they are anything else.
static void check_item(PyObject* value) {
    int64_t item;
    if (PyLong_CheckExact(value) && int_of_object(value, item) == Fit::Raised) throw_python();
}

/// A number of a tensor's dtype, which stands in a trace as a constant.
[[gnu::cold]] static Tensor traced_number(const Tensor& like, const Scalar& scalar) {
    Exclude quiet(::kindling::key::Trace);
    const Tensor number = make_tensor(IntList(), like.dtype());
    op_fill_number(number, scalar);
    return number;
}

static void write(const Tensor& target, PyObject* value) {
    Scalar scalar;
    check_item(value);
    if (!is_tensor(value) && scalar_of_object(value, scalar)) {
        if (target.dtype() != DType::Bool && category(target.dtype()) < 3 && scalar.is_complex() && scalar.to_complex().imag() != 0)
            fail(ErrorKind::Runtime, "value cannot be converted to type %s without overflow", c_type_name(target.dtype()));
        // As a tensor: what lies expanded, to be refused, and what is infinite in half types, as torch makes it.
        const bool beyond = is_half(target.dtype()) && !scalar.is_complex() && std::abs(scalar.to_double()) > 65504;
        if (!beyond) check_fits(scalar, target.dtype());
        if (is_traced()) [[unlikely]] { // as PyTorch writes it
            const Tensor number = traced_number(target, scalar);
            target.dim() ? op_fill_tensor(target, number) : op_copy(target, number);
            return;
        }
        if (target.impl()->non_overlapping_dense && !beyond) op_fill_number(target, scalar);
        else op_fill_tensor(target, wrap_number(scalar));
        return;
    }
    if (!is_tensor(value)) {
        fail(ErrorKind::Type, "can't assign a %s to a torch.%sTensor", Py_TYPE(value)->tp_name, scalar_type_name(target.dtype()));
    }
    Tensor source = tensor_of(value);
    if (source.sizes() == target.sizes()) op_copy(target, source);
    else if (source.dim() == 0 && source.device() == Device()) op_fill_tensor(target, source);
    else {
        Tensor stripped = strip_ones(source, target.dim());
        if (stripped.dim() > target.dim())
            fail(ErrorKind::Runtime,
                 "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%lld) must be greater or equal to the "
                 "number of dimensions in the tensor (%lld)",
                 scalar_type_name(stripped.dtype()), str(stripped.sizes()).c_str(), str(target.sizes()).c_str(),
                 static_cast<long long>(target.dim()), static_cast<long long>(stripped.dim()));
        expanded_strides(stripped.sizes(), stripped.strides(), target.sizes());
        // A part of the target's own memory may be spread over it; copy_ refuses that where it is not spread yet.
        if (stripped.storage() == target.storage()) stripped = op_expand(stripped, target.sizes(), false);
        op_copy(target, stripped);
    }
}

static Tensor value_tensor(const Tensor& self, PyObject* value) {
    if (is_tensor(value)) return tensor_of(value);
    check_item(value);
    Scalar scalar;
    if (scalar_of_object(value, scalar)) {
        if (is_traced()) [[unlikely]]
            return traced_number(self, scalar);
        static constinit Known scalar_tensor{"scalar_tensor", "", nullptr};
        return scalar_tensor(scalar, self.dtype(), Value(), self.device());
    }
    fail(ErrorKind::Type, "can't assign a %s to a torch.%sTensor", Py_TYPE(value)->tp_name, scalar_type_name(self.dtype()));
}

int tensor_assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
        return -1;
    }
    if (wants_torch_function(self) || (is_tensor(value) && wants_torch_function(value))) [[unlikely]] {
        if (PyObject* result = ask("__setitem__", self, key, value)) {
            Py_DECREF(result);
            return 0;
        }
        if (PyErr_Occurred()) return -1;
    }
    const int done = guarded_int([&] {
        Tensor tensor = tensor_of(self);
        if (tensor.impl()->key & ::kindling::key::Layout) fail(ErrorKind::Type, "Cannot assign to a sparse tensor");
        if (PyBool_Check(key)) {
            if (key == Py_True) write(tensor, value);
            return 0;
        }
        if (PyLong_CheckExact(key)) {
            int64_t index;
            if (int_of_object(key, index) == Fit::Raised) throw_python();
            write(select(tensor, 0, index, 0), value);
            return 0;
        }
        if (key == Py_Ellipsis) {
            write(tensor, value);
            return 0;
        }
        if (key == Py_None) {
            write(op_unsqueeze(tensor, int64_t{0}), value);
            return 0;
        }
        if (PySlice_Check(key)) {
            if (tensor.dim() == 0) fail(ErrorKind::Index, "slice() cannot be applied to a 0-dim tensor.");
            write(slice(tensor, 0, key), value);
            return 0;
        }
        std::vector<Tensor> indices;
        Tensor target = apply_key(tensor, key, indices);
        if (indices.empty()) {
            write(target, value);
            return 0;
        }
        Tensor source = value_tensor(tensor, value);
        // Leading ones that would make the value larger than what is written to.
        int64_t skip = 0;
        while (skip < source.dim() && source.sizes()[static_cast<size_t>(skip)] == 1) skip++;
        if (skip) source = op_view(source, IntList(source.sizes().data() + skip, static_cast<size_t>(source.dim() - skip)));
        op_index_put(target, TensorList(indices), source);
        return 0;
    });
    if (!done) [[likely]]
        return 0;
    PyObject* result = ask_others("__setitem__", self, key, value);
    if (!result) return -1;
    Py_DECREF(result);
    return 0;
}

} // namespace kindling::python
