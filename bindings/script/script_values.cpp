// bindings/script/script_values.cpp: between Python objects and the items of scripts.
// Compiled for size.
#include "bindings/script_class.h"
#include "bindings/types.h"
#include "script/graph/codes.h"

namespace kindling::python {
namespace {

using ks::Item;
using ks::type_of;
using ks::TypeKind;
using ks::TypeRef;

/// A dtype, a layout or a memory format, which are numbers in scripts.
bool code_of_object(PyObject* object, int64_t& code) {
    if (is_dtype(object)) {
        DType dtype;
        if (!dtype_of_object(object, dtype)) return false;
        code = ks::code_of(dtype);
        return true;
    }
    Layout layout;
    MemoryFormat format;
    if (layout_of_object(object, layout)) return code = ks::code_of(layout), true;
    if (memory_format_of_object(object, format)) return code = static_cast<int64_t>(format), true;
    return false;
}

bool int_item(PyObject* object, Item& item) {
    int64_t code;
    if (PyLong_Check(object) || PyIndex_Check(object)) {
        Object index(is_tensor(object) ? PyNumber_Long(object) : PyNumber_Index(object)); // a tensor's 2.5 is 2, a number's is none
        const long long value = index ? PyLong_AsLongLong(index.get()) : -1;
        if (PyErr_Occurred()) return PyErr_Clear(), false;
        item = Item(static_cast<int64_t>(value));
        return true;
    }
    if (!code_of_object(object, code)) return false;
    item = Item(code);
    return true;
}

bool float_item(PyObject* object, Item& item) {
    const double value = PyFloat_Check(object)                                ? PyFloat_AS_DOUBLE(object)
                         : PyNumber_Check(object) && !PyComplex_Check(object) ? PyFloat_AsDouble(object)
                                                                              : (PyErr_SetNone(PyExc_TypeError), -1.0);
    if (value == -1.0 && PyErr_Occurred()) return PyErr_Clear(), false;
    item = Item(value);
    return true;
}

bool number_item(PyObject* object, Item& item) {
    if (PyBool_Check(object)) return item = Item(object == Py_True), true;
    if (PyLong_Check(object)) return int_item(object, item);
    if (PyFloat_Check(object)) return float_item(object, item);
    Scalar scalar;
    if (!scalar_of_object(object, scalar)) return false;
    item = scalar.is_complex() ? Item(scalar.to_complex())
           : scalar.is_float() ? Item(scalar.to_double())
           : scalar.is_bool()  ? Item(scalar.to_bool())
                               : Item(scalar.to_int());
    return true;
}

bool items_of(PyObject* object, TypeRef element, std::vector<Item>& items) {
    if (!PyList_Check(object) && !PyTuple_Check(object) &&
        (PyUnicode_Check(object) || PyBytes_Check(object) || PyDict_Check(object) || is_tensor(object) || !PySequence_Check(object)))
        return false;
    Object fast(PySequence_Fast(object, ""));
    if (!fast) return PyErr_Clear(), false;
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(fast.get());
    items.resize(static_cast<size_t>(size));
    for (Py_ssize_t i = 0; i < size; i++)
        if (!to_item(PySequence_Fast_GET_ITEM(fast.get(), i), element, items[static_cast<size_t>(i)])) return false;
    return true;
}

PyObject* checked_list(const std::vector<Item>& items, bool tuple) {
    Object made(checked(tuple ? PyTuple_New(static_cast<Py_ssize_t>(items.size())) : PyList_New(static_cast<Py_ssize_t>(items.size()))));
    for (size_t i = 0; i < items.size(); i++) {
        PyObject* each = checked(from_item(items[i]));
        if (tuple) PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), each);
        else PyList_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), each);
    }
    return made.take();
}

} // namespace

Item foreign_item(PyObject* object) {
    auto* made = new Item::Foreign;
    made->object = Py_NewRef(object);
    made->free = [](void* held) {
        Lock lock;
        Py_DECREF(static_cast<PyObject*>(held));
    };
    return Item::adopt(Item::Tag::Foreign, made);
}

bool to_item(PyObject* object, TypeRef type, Item& item) {
    switch (type->kind) {
    case TypeKind::Tensor:
        if (!is_tensor(object)) return false;
        item = Item(tensor_of(object));
        return true;
    case TypeKind::Int: return int_item(object, item);
    case TypeKind::Float: return float_item(object, item);
    case TypeKind::Bool: { // what is a number to Python, and None
        const PyNumberMethods* number = Py_TYPE(object)->tp_as_number;
        const int truth = object == Py_None ? 0 : number && number->nb_bool ? number->nb_bool(object) : -1;
        if (truth < 0) return PyErr_Clear(), false;
        item = Item(truth != 0);
        return true;
    }
    case TypeKind::Complex: {
        const Py_complex number = PyComplex_AsCComplex(object);
        if (PyErr_Occurred()) return PyErr_Clear(), false;
        item = Item(std::complex<double>(number.real, number.imag));
        return true;
    }
    case TypeKind::Number: return number_item(object, item);
    case TypeKind::Str: {
        Py_ssize_t size;
        const char* text = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : nullptr;
        if (!text) return PyErr_Clear(), false;
        item = Item(std::string(text, static_cast<size_t>(size)));
        return true;
    }
    case TypeKind::None: item = Item(); return object == Py_None;
    case TypeKind::Device: {
        Device device;
        if (!device_of_object(object, device, false)) return false;
        item = Item(device);
        return true;
    }
    case TypeKind::Optional:
        if (object == Py_None) return item = Item(), true;
        return to_item(object, type->element(), item);
    case TypeKind::List: {
        std::vector<Item> items;
        if (!items_of(object, type->element(), items)) return false;
        item = Item::list(type, std::move(items));
        return true;
    }
    case TypeKind::Tuple: {
        if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
        Object fast(PySequence_Fast(object, ""));
        if (!fast) return PyErr_Clear(), false;
        const auto& parts = type->parts;
        if (static_cast<size_t>(PySequence_Fast_GET_SIZE(fast.get())) != parts.size()) return false;
        std::vector<Item> items(parts.size());
        for (size_t i = 0; i < parts.size(); i++)
            if (!to_item(PySequence_Fast_GET_ITEM(fast.get(), static_cast<Py_ssize_t>(i)), parts[i], items[i])) return false;
        item = Item::tuple(type, std::move(items));
        return true;
    }
    case TypeKind::Dict: {
        if (!PyDict_Check(object)) return false;
        Item made = Item::dict(type);
        PyObject *key, *value;
        for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value);) {
            Item first, second;
            if (!to_item(key, type->parts[0], first) || !to_item(value, type->parts[1], second)) return false;
            made.dict().set(first, second);
        }
        item = std::move(made);
        return true;
    }
    case TypeKind::Union: {
        const TypeRef own = inferred_type(object);
        for (TypeRef member : type->parts)
            if (own && is_subtype(own, member) && to_item(object, member, item)) return true;
        for (TypeRef member : type->parts)
            if (!own && to_item(object, member, item)) return true; // an empty list
        return false;
    }
    case TypeKind::Any: {
        const TypeRef own = inferred_type(object);
        if (own && !own->is(TypeKind::Any)) return to_item(object, own, item);
        item = foreign_item(object);
        return true;
    }
    case TypeKind::AnyList:
    case TypeKind::AnyTuple: {
        const TypeRef own = inferred_type(object);
        return own && is_subtype(own, type) && to_item(object, own, item);
    }
    case TypeKind::Class:
    case TypeKind::Enum: return type->definition && class_item(object, type, item);
    case TypeKind::Generator:
        if (!generator_of(object)) return false;
        item = foreign_item(object);
        return true;
    case TypeKind::Storage:
    case TypeKind::Stream:
    case TypeKind::Future:
    case TypeKind::RRef: item = foreign_item(object); return true;
    default: return false;
    }
}

TypeRef inferred_type(PyObject* object) {
    if (object == Py_None) return type_of(TypeKind::None);
    if (is_tensor(object)) return type_of(TypeKind::Tensor);
    if (PyBool_Check(object)) return type_of(TypeKind::Bool);
    if (PyLong_Check(object)) return type_of(TypeKind::Int);
    if (PyFloat_Check(object)) return type_of(TypeKind::Float);
    if (PyComplex_Check(object)) return type_of(TypeKind::Complex);
    if (PyUnicode_Check(object)) return type_of(TypeKind::Str);
    if (is_device(object)) return type_of(TypeKind::Device);
    int64_t code;
    if (code_of_object(object, code)) return type_of(TypeKind::Int);
    if (PyTuple_Check(object)) {
        std::vector<TypeRef> parts;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
            parts.push_back(inferred_type(PyTuple_GET_ITEM(object, i)));
            if (!parts.back()) return nullptr;
        }
        return ks::tuple_of(std::move(parts));
    }
    if (PyList_Check(object)) {
        if (!PyList_GET_SIZE(object)) return nullptr;
        TypeRef all = inferred_type(PyList_GET_ITEM(object, 0));
        for (Py_ssize_t i = 1; all && i < PyList_GET_SIZE(object); i++) {
            const TypeRef each = inferred_type(PyList_GET_ITEM(object, i));
            all = each ? unify(all, each) : nullptr;
        }
        return all ? ks::list_of(all) : nullptr;
    }
    if (PyDict_Check(object)) {
        PyObject *key, *value;
        TypeRef keys = nullptr, values = nullptr;
        for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value);) {
            const TypeRef first = inferred_type(key), second = inferred_type(value);
            if (!first || !second) return nullptr;
            keys = keys ? unify(keys, first) : first;
            values = values ? unify(values, second) : second;
            if (!keys || !values) return nullptr;
        }
        return keys ? ks::dict_of(keys, values) : nullptr;
    }
    if (const Item* own = item_of_object(object)) return own->type();
    if (PyType_Check(object) || PyFunction_Check(object) || PyModule_Check(object)) return nullptr;
    Object of(import("kindling.jit._classes", "type_of_object")); // classes and modules that are scripts
    Object type(of ? PyObject_CallOneArg(of.get(), object) : nullptr);
    if (!type) return PyErr_Clear(), nullptr;
    return type_of_handle(type.get());
}

PyObject* from_item(const Item& item) {
    switch (item.tag()) {
    case Item::Tag::None: Py_RETURN_NONE;
    case Item::Tag::Bool: return PyBool_FromLong(item.truth());
    case Item::Tag::Int: return PyLong_FromLongLong(item.integer());
    case Item::Tag::Float: return PyFloat_FromDouble(item.number());
    case Item::Tag::Device: return device_object(item.device());
    case Item::Tag::Tensor: return wrap(item.tensor());
    case Item::Tag::Complex: return PyComplex_FromDoubles(item.complex().real(), item.complex().imag());
    case Item::Tag::Str: return PyUnicode_DecodeUTF8(item.text().data(), static_cast<Py_ssize_t>(item.text().size()), "replace");
    case Item::Tag::List: return checked_list(item.items(), false);
    case Item::Tag::Tuple: {
        PyObject* tuple = checked_list(item.items(), true);
        const TypeRef type = item.type();
        if (!type || type->fields.empty() || type->name.empty()) return tuple; // the fields of an operator's results have no class
        Object values(tuple);
        if (PyObject* made = named_tuple_object(type, tuple)) return made;
        if (PyErr_Occurred()) throw_python();
        // A class of a text's own: there is none in Python.
        Object make(checked(import("collections", "namedtuple"))),
            fields(checked(PyTuple_New(static_cast<Py_ssize_t>(type->fields.size()))));
        for (size_t i = 0; i < type->fields.size(); i++)
            PyTuple_SET_ITEM(fields.get(), static_cast<Py_ssize_t>(i), checked(PyUnicode_FromString(type->fields[i].c_str())));
        Object kind(checked(PyObject_CallFunction(make.get(), "sO", type->name.c_str() + (type->name.rfind('.') + 1), fields.get())));
        return PyObject_CallObject(kind.get(), values.get());
    }
    case Item::Tag::Dict: {
        Object made(checked(PyDict_New()));
        for (const auto& [key, value] : item.dict()) {
            Object first(checked(from_item(key))), second(checked(from_item(value)));
            if (PyDict_SetItem(made.get(), first.get(), second.get())) throw_python();
        }
        return made.take();
    }
    case Item::Tag::Foreign: return Py_NewRef(static_cast<PyObject*>(static_cast<Item::Foreign*>(item.object())->object));
    case Item::Tag::Instance: return class_object_of(item);
    case Item::Tag::Future: {
        Object wrap_future(checked(import("kindling.jit", "_wrap_future"))), capsule(checked(item_capsule(item)));
        return PyObject_CallOneArg(wrap_future.get(), capsule.get());
    }
    }
    Py_RETURN_NONE;
}

PyObject* item_capsule(const Item& item) {
    auto* kept = new Item(item);
    PyObject* capsule = PyCapsule_New(kept, "kindling.script.Item", [](PyObject* self) {
        delete static_cast<Item*>(PyCapsule_GetPointer(self, "kindling.script.Item"));
    });
    if (!capsule) delete kept;
    return capsule;
}

} // namespace kindling::python
