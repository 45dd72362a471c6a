// bindings/package/package.cpp: kindling/__init__.*.so, what the interpreter finds first when it imports kindling.
//
// It only has to be early. The interpreter publishes a package to other threads before it runs a line of its `__init__.py`.
// A thread that looks for a module of the archive then would not find it ("No module named 'kindling.fft'"). Here no other
// thread has the specification yet. So the archive is added to the package's path, and a finder adds it to the paths of the
// packages below. From then on the package is `__init__.py`, as if nothing else had been found.

#include <Python.h>

#include <initializer_list>

static PyObject *home, *archive;    // the package's folder, and the archive in it

/// sys.meta_path's find_spec until `__init__.py` has put its own before it. It must not wait for anybody: the interpreter's lock of
/// all imports is held.
static PyObject* find_spec(PyObject*, PyObject* args) {
    PyObject* name = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : nullptr;
    static constexpr char prefix[] = "kindling.";
    if (!name || !PyUnicode_Check(name)) Py_RETURN_NONE;
    for (Py_ssize_t i = 0; i < 9; i++)
        if (PyUnicode_GetLength(name) <= i || PyUnicode_ReadChar(name, i) != static_cast<Py_UCS4>(prefix[i])) Py_RETURN_NONE;
    PyObject* machinery = PyImport_ImportModule("_frozen_importlib_external");
    PyObject* finder = machinery ? PyObject_GetAttrString(machinery, "PathFinder") : nullptr;
    PyObject* find = finder ? PyObject_GetAttrString(finder, "find_spec") : nullptr;
    PyObject* spec = find ? PyObject_CallObject(find, args) : nullptr;
    PyObject* places = spec && spec != Py_None ? PyObject_GetAttrString(spec, "submodule_search_locations") : nullptr;
    if (places && PyList_CheckExact(places) && PyList_GET_SIZE(places) == 1) {
        PyObject* folder = PyList_GET_ITEM(places, 0);
        const Py_ssize_t length = PyUnicode_GetLength(home);
        if (PyUnicode_Tailmatch(folder, home, 0, PY_SSIZE_T_MAX, -1) == 1) {
            PyObject* rest = PyUnicode_Substring(folder, length, PyUnicode_GetLength(folder));
            PyObject* inside = rest ? PyUnicode_Concat(archive, rest) : nullptr;
            if (!inside || PyList_Append(places, inside)) Py_CLEAR(spec);
            Py_XDECREF(rest);
            Py_XDECREF(inside);
        }
    }
    for (PyObject* each : {machinery, finder, find, places}) Py_XDECREF(each);
    return spec;
}

/// A finder that stands before the interpreter's own.
static bool add_finder() {
    static PyMethodDef method = {"find_spec", find_spec, METH_VARARGS, nullptr};
    PyObject *finders = PySys_GetObject("meta_path"), *function = PyCFunction_New(&method, nullptr);
    PyObject* example = PySys_GetObject("implementation");      // of a class that takes any attribute
    PyObject *no_arguments = PyTuple_New(0), *attributes = PyDict_New();
    PyObject* finder = nullptr;
    if (finders && PyList_Check(finders) && example && function && no_arguments && attributes && PyDict_SetItemString(attributes, "find_spec", function) == 0)
        finder = PyObject_Call(reinterpret_cast<PyObject*>(Py_TYPE(example)), no_arguments, attributes);
    const bool added = finder && PyList_Insert(finders, 0, finder) == 0;
    for (PyObject* each : {function, no_arguments, attributes, finder}) Py_XDECREF(each);
    return added;
}

static PyObject* create(PyObject* spec, PyModuleDef*) {
    PyObject *name = PyObject_GetAttrString(spec, "name"), *places = PyObject_GetAttrString(spec, "submodule_search_locations");
    PyObject *machinery = PyImport_ImportModule("_frozen_importlib_external"), *module = nullptr, *source = nullptr, *loader = nullptr;
    if (name && places && machinery && PyList_Check(places) && PyList_GET_SIZE(places) == 1) {
        const bool first = !home;
        home = Py_NewRef(PyList_GET_ITEM(places, 0));
        archive = PyUnicode_FromFormat("%U/_archive.zip", home);
        source = PyUnicode_FromFormat("%U/__init__.py", home);
        if (archive && source && (!first || add_finder())) loader = PyObject_CallMethod(machinery, "SourceFileLoader", "OO", name, source);
        if (loader && PyList_Append(places, archive) == 0 && PyObject_SetAttrString(spec, "loader", loader) == 0 &&
            PyObject_SetAttrString(spec, "origin", source) == 0 && PyObject_SetAttrString(spec, "cached", Py_None) == 0)
            module = PyModule_NewObject(name);
    }
    if (!module && !PyErr_Occurred()) PyErr_SetString(PyExc_ImportError, "kindling is a package of files and an archive");
    for (PyObject* each : {name, places, machinery, source, loader}) Py_XDECREF(each);
    return module;
}

extern "C" __attribute__((visibility("default"))) PyObject* PyInit_kindling() {
    static PyModuleDef_Slot slots[] = {{Py_mod_create, reinterpret_cast<void*>(create)}, {0, nullptr}};
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kindling", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
    return PyModuleDef_Init(&definition);
}
