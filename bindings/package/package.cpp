// bindings/package/package.cpp: kindling/__init__.*.so, what the interpreter finds first when it imports kindling.
//
// It only has to be early. The interpreter publishes a package to other threads before it runs a line of its `__init__.py`.
// A thread that looks for a packed module then would not find it ("No module named 'kindling.fft'"). Here no other thread has
// the specification yet. So `_importer.py` runs now: it adds the pack to the package's path, and the finders that look there.
// From then on the package is `__init__.py`, as if nothing else had been found.

#include <Python.h>

#include <initializer_list>

/// kindling/_importer.py, run as the module `kindling._importer`, though there is no package yet. Not by the interpreter's import:
/// a thread that imports that very module holds its lock and waits for the package's, which this thread holds.
static PyObject* importer(PyObject* home, PyObject* machinery) {
    PyObject *name = PyUnicode_FromString("kindling._importer"), *path = PyUnicode_FromFormat("%U/_importer.py", home);
    PyObject* module = name ? PyImport_GetModule(name) : nullptr;      // from an import of the package that failed later
    if (!module && name && path && !PyErr_Occurred()) {
        PyObject* spec = PyObject_CallMethod(machinery, "spec_from_file_location", "OO", name, path);
        PyObject* bootstrap = spec ? PyImport_ImportModule("_frozen_importlib") : nullptr;
        PyObject* loader = bootstrap ? PyObject_GetAttrString(spec, "loader") : nullptr;
        if (loader) module = PyObject_CallMethod(bootstrap, "module_from_spec", "O", spec);
        PyObject* done = module ? PyObject_CallMethod(loader, "exec_module", "O", module) : nullptr;
        if (!done || PyDict_SetItem(PyImport_GetModuleDict(), name, module)) Py_CLEAR(module);
        for (PyObject* each : {spec, bootstrap, loader, done}) Py_XDECREF(each);
    }
    Py_XDECREF(name);
    Py_XDECREF(path);
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
        if (loader) finders = importer(home, machinery);
        if (finders) begun = PyObject_CallMethod(finders, "begin", "O", spec);
        if (begun && PyObject_SetAttrString(spec, "loader", loader) == 0 && PyObject_SetAttrString(spec, "origin", source) == 0 &&
            PyObject_SetAttrString(spec, "cached", Py_None) == 0)
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
