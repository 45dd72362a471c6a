// bindings/package/package.cpp: kindling/__init__.*.so, what the interpreter finds first when it imports kindling.
//
// It only has to be early. The interpreter publishes a package to other threads before it runs a line of its `__init__.py`.
// A thread that looks for a packed module then would not find it ("No module named 'kindling.fft'"). Here no other thread has
// the specification yet. So `_importer.py` runs now: it adds the pack to the package's path, and the finders that look there.
// From then on the package is `__init__.py`, as if nothing else had been found.

#include <Python.h>
#include <marshal.h>

#include <initializer_list>

static const unsigned char code[] = {
#include "generated/importer.inc"
};

/// kindling/_importer.py, whose bytecode is part of this library: that takes 0.2 ms less than a file. `__init__.py` puts it into
/// sys.modules: before there is the package, a thread that imports that very module must not find it.
static PyObject* importer(PyObject* home) {
    PyObject *module = PyModule_New("kindling._importer"), *path = PyUnicode_FromFormat("%U/_importer.py", home);
    PyObject* compiled = PyMarshal_ReadObjectFromString(reinterpret_cast<const char*>(code), sizeof code);
    PyObject *names = module ? PyModule_GetDict(module) : nullptr, *done = nullptr;
    if (names && path && compiled && PyDict_SetItemString(names, "__file__", path) == 0 &&
        PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyEval_EvalCode(compiled, names, names);
    if (!done) Py_CLEAR(module);
    for (PyObject* each : {path, compiled, done}) Py_XDECREF(each);
    return module;
}

static PyObject* create(PyObject* spec, PyModuleDef*) {
    PyObject *name = PyObject_GetAttrString(spec, "name"), *places = PyObject_GetAttrString(spec, "submodule_search_locations");
    PyObject *machinery = PyImport_ImportModule("_frozen_importlib_external"), *module = nullptr, *source = nullptr, *loader = nullptr;
    PyObject *finders = nullptr, *begun = nullptr;
    if (name && places && machinery && PyList_Check(places) && PyList_GET_SIZE(places) == 1) {
        PyObject* home = PyList_GET_ITEM(places, 0);
        source = PyUnicode_FromFormat("%U/__init__.py", home);
        if (source) loader = PyObject_CallMethod(machinery, "SourceFileLoader", "OO", name, source);
        if (loader) finders = importer(home);
        if (finders) begun = PyObject_CallMethod(finders, "begin", "O", spec);
        if (begun && PyObject_SetAttrString(spec, "loader", loader) == 0 && PyObject_SetAttrString(spec, "origin", source) == 0 &&
            PyObject_SetAttrString(spec, "cached", Py_None) == 0 && PyObject_SetAttrString(spec, "loader_state", finders) == 0)
            module = PyModule_NewObject(name);
    }
    if (!module && !PyErr_Occurred()) PyErr_SetString(PyExc_ImportError, "kindling is a package of files and packed modules");
    for (PyObject* each : {name, places, machinery, source, loader, finders, begun}) Py_XDECREF(each);
    return module;
}

extern "C" __attribute__((visibility("default"))) PyObject* PyInit_kindling() {
    static PyModuleDef_Slot slots[] = {{Py_mod_create, reinterpret_cast<void*>(create)}, {0, nullptr}};
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kindling", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
    return PyModuleDef_Init(&definition);
}
