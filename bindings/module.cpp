// bindings/module.cpp: kindling._C, the extension module. One interpreter only; created in one step, because an import pays for everything
// here.
#include <cstdio>
#include <cstdlib>

#include "bindings/function.h"
#include "bindings/tensor/tensor.h"
#include "bindings/types.h"
#include "graph/pending.h"
#include "operators/forms.h"
#include "runtime/blas.h"
#include "runtime/threads.h"

namespace kindling::python {

static void* give_lock() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
static void warn_here(const char* message) {
    Lock lock;
    if (PyErr_WarnEx(PyExc_UserWarning, message, 1)) throw_python();
}
static void signals_here() {
    Lock lock;
    if (PyErr_CheckSignals()) throw_python();
}
// The file of the package scipy-openblas32, wherever the interpreter would import it from. A thread of ours has no interpreter to ask.
static bool blas_here(char* path, size_t size) {
    if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) return false;
    Lock lock;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (PyObject* find = import("kindling._start.bootstrap", "blas_library")) {
        PyObject* file = PyObject_CallNoArgs(find);
        if (const char* text = file ? PyUnicode_AsUTF8(file) : nullptr) snprintf(path, size, "%s", text);
        Py_XDECREF(file);
        Py_DECREF(find);
    }
    PyErr_Restore(type, value, trace);
    return true;
}
static void take_lock(void* state) { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); }

} // namespace kindling::python

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__C() {
    using namespace kindling;
    using namespace kindling::python;
    static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, "kindling._C", "The native part of Kindling.", -1, nullptr, nullptr, nullptr, nullptr, nullptr};
    static bool made = false;
    if (made) {
        PyErr_SetString(PyExc_ImportError, "kindling does not support subinterpreters: one interpreter of the process has it already");
        return nullptr;
    }
    PyObject* module = PyModule_Create(&definition);
    if (!module) return nullptr;
    if (!init_errors(module) || !init_types(module) || !init_functions(module) || !init_torch_function(module) || !init_tensor(module) ||
        !init_storage(module) || !init_construct(module) || !init_dispatch(module) || !init_sizes(module) || !init_library(module) ||
        !init_batch(module) || !init_module_state(module) || !init_autograd(module) || !init_source(module) || !init_devices(module) ||
        !init_profile(module) || !init_compiled(module) || !init_script(module) || !init_trace(module)) {
        Py_DECREF(module);
        return nullptr;
    }
    warn = warn_here;
    release_lock = give_lock;
    retake_lock = take_lock;
    handle_signals = signals_here;
    is_held_outside = array_held_outside;
    find_blas = blas_here;
    made = true;
    if (const char* smallest = std::getenv("KINDLING_DEFER_FROM"); smallest && *smallest)
        smallest_loop = std::strtoll(smallest, nullptr, 10);
    if (const char* deferred = std::getenv("KINDLING_DEFER"); deferred && *deferred == '1') begin_recording(); // of this thread
    return module;
}
