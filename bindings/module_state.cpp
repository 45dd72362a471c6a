// bindings/module_state.cpp: where nn.Module looks for what is no attribute of its own. Every `self.weight` of every forward
// passes here, which in Python takes longer than many a small operator.
#include "bindings/python.h"
#include "bindings/types.h"

namespace kindling::python {
namespace {

PyObject* kinds[3]; // names of the dictionaries, in the order in which they are asked
PyObject* descriptor;

PyObject* held_in(PyObject* state, PyObject* self, PyObject* name) {
    for (PyObject* kind : kinds) {
        PyObject* held = PyDict_GetItemWithError(state, kind);
        if (!held) {
            if (PyErr_Occurred()) return nullptr;
            continue;
        }
        if (PyDict_CheckExact(held) || PyODict_CheckExact(held)) {
            if (PyObject* value = PyDict_GetItemWithError(held, name)) return Py_NewRef(value);
            if (PyErr_Occurred()) return nullptr;
        } else { // a mapping with rules of its own
            const Object shared = Object::share(held);
            const int has = PySequence_Contains(held, name);
            if (has) return has < 0 ? nullptr : PyObject_GetItem(held, name);
        }
    }
    return PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", Py_TYPE(self)->tp_name, name);
}

#if PY_VERSION_HEX < 0x030C0000
// Before 3.12 the interpreter makes and drops an exception each time it falls back to __getattr__. A class whose rules
// are those of Module therefore gets this in the place of the interpreter's function: the same look-ups in the same order.
// Whoever changes the class afterwards (its __getattr__, say) has the interpreter put its own function back.
getattrofunc interpreters;

PyObject* attribute(PyObject* self, PyObject* name) {
    PyTypeObject* type = Py_TYPE(self);
    if (!_PyType_Lookup(type, name)) {
        const Object state(PyObject_GenericGetDict(self, nullptr));
        if (!state) return nullptr;
        if (PyObject* own = PyDict_GetItemWithError(state.get(), name)) return Py_NewRef(own);
        return PyErr_Occurred() ? nullptr : held_in(state.get(), self, name);
    }
    PyObject* found = PyObject_GenericGetAttr(self, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
    const Object state(PyObject_GenericGetDict(self, nullptr));
    return state ? held_in(state.get(), self, name) : nullptr;
}

void speed_up(PyTypeObject* type) {
    static PyObject* const names[] = {PyUnicode_InternFromString("__getattr__"), PyUnicode_InternFromString("__getattribute__")};
    if (type->tp_getattro == attribute || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !names[0] || !names[1]) return;
    if (_PyType_Lookup(type, names[0]) != descriptor || _PyType_Lookup(type, names[1]) != _PyType_Lookup(&PyBaseObject_Type, names[1]))
        return;
    if (!interpreters) interpreters = type->tp_getattro;
    if (type->tp_getattro == interpreters) type->tp_getattro = attribute;
}
#else
void speed_up(PyTypeObject*) {}
#endif

/// Module.__getattr__(self, name): a parameter, a submodule or a buffer.
PyObject* held_attribute(PyObject* self, PyObject* name) {
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "attribute name must be string, not '%.200s'", Py_TYPE(name)->tp_name);
        return nullptr;
    }
    const Object state(PyObject_GenericGetDict(self, nullptr));
    if (!state) return nullptr;
    speed_up(Py_TYPE(self));
    return held_in(state.get(), self, name);
}

} // namespace

bool init_module_state(PyObject* module) {
    const char* const names[] = {"_parameters", "_modules", "_buffers"};
    for (int k = 0; k < 3; k++)
        if (!kinds[k] && !(kinds[k] = PyUnicode_InternFromString(names[k]))) return false;
    static PyMethodDef method = {"__getattr__", held_attribute, METH_O, "A parameter, a submodule or a buffer."};
    if (!descriptor) descriptor = PyDescr_NewMethod(&PyBaseObject_Type, &method);
    return descriptor && PyModule_AddObjectRef(module, "_module_getattr", descriptor) == 0;
}

} // namespace kindling::python
