// bindings/source.cpp: compiles a program's source without the interpreter's compile(), which would create the types of the ast
// module first, at a millisecond of every start.
#include "bindings/python.h"
#include "bindings/types.h"

namespace kindling::python {

/// _compile_source(source: bytes, filename: str) -> code, as the interpreter compiles a script.
static PyObject* compile_source(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    if (count != 2 || !PyBytes_Check(arguments[0]) || !PyUnicode_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "_compile_source() takes bytes and a file name");
        return nullptr;
    }
    char* text = nullptr;
    // Refuses zero bytes, as compile() does.
    if (PyBytes_AsStringAndSize(arguments[0], &text, nullptr) < 0) return nullptr;
    return Py_CompileStringObject(text, arguments[1], Py_file_input, nullptr, -1);
}

bool init_source(PyObject* module) {
    static PyMethodDef method = {"_compile_source", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(compile_source)), METH_FASTCALL,
                                 "The code object of a script's source."};
    PyObject* function = PyCFunction_New(&method, nullptr);
    return function && PyModule_AddObject(module, "_compile_source", function) == 0;
}

} // namespace kindling::python
