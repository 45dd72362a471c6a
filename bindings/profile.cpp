// bindings/profile.cpp: torch.autograd.profiler and torch.profiler: switch the core's records on and off, and hand them to Python.
// Compiled for size.
#include "core/profile.h"
#include "bindings/function.h"
#include "bindings/types.h"

#include <frameobject.h>
#include <pthread.h>

namespace kindling::python {

/// ["file(line): function", ...], the innermost first.
static void* python_stack() {
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject* list = PyList_New(0);
    PyFrameObject* frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame && list) {
        PyCodeObject* code = PyFrame_GetCode(frame);
        PyObject* line = PyUnicode_FromFormat("%U(%d): %U", code->co_filename, PyFrame_GetLineNumber(frame), code->co_name);
        if (line) PyList_Append(list, line);
        Py_XDECREF(line);
        Py_DECREF(code);
        PyFrameObject* back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    PyErr_Clear();
    PyGILState_Release(state);
    return list;
}

/// _C._profile_start(shapes, memory, stacks)
static PyObject* start(PyObject*, PyObject* args) {
    int shapes, memory, stacks;
    if (!PyArg_ParseTuple(args, "ppp", &shapes, &memory, &stacks)) return nullptr;
    return guarded([&]() -> PyObject* {
        profile_stack = python_stack;
        start_profile(shapes, memory, stacks);
        Py_RETURN_NONE;
    });
}

static PyObject* shapes_of(const std::vector<int64_t>& notes) {
    PyObject* list = PyList_New(0);
    for (size_t i = 0; list && i < notes.size();) {
        int64_t dims = notes[i++];
        PyObject* shape = PyList_New(dims < 0 ? 0 : static_cast<Py_ssize_t>(dims));
        for (int64_t d = 0; shape && d < dims; d++) PyList_SET_ITEM(shape, static_cast<Py_ssize_t>(d), PyLong_FromLongLong(notes[i++]));
        if (shape) PyList_Append(list, shape);
        Py_XDECREF(shape);
    }
    return list;
}

/// _C._profile_stop(): [(name, kind, begin, end, parent, sequence, bytes, shapes, stack)], and the thread's number.
static PyObject* stop(PyObject*, PyObject*) {
    return guarded([&]() -> PyObject* {
        Profile* done = stop_profile();
        if (!done) fail(ErrorKind::Runtime, "Can't disable Kineto profiler when it's not running");
        PyObject* list = PyList_New(static_cast<Py_ssize_t>(done->events.size()));
        for (size_t i = 0; list && i < done->events.size(); i++) {
            ProfileEvent& event = done->events[i];
            std::string name =
                event.op ? (strstr(event.op->name(), "::") ? std::string() : std::string("aten::")) + event.op->name() : event.name;
            PyObject* stack = event.stack ? static_cast<PyObject*>(event.stack) : PyList_New(0);
            PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i),
                            Py_BuildValue("(siLLiLLNN)", name.c_str(), static_cast<int>(event.kind), static_cast<long long>(event.begin),
                                          static_cast<long long>(event.end), event.parent, static_cast<long long>(event.sequence),
                                          static_cast<long long>(event.bytes), shapes_of(event.shapes), stack));
        }
        delete done;
        return list;
    });
}

static PyObject* running(PyObject*, PyObject*) { return PyBool_FromLong(profile != nullptr); }

/// _C._profile_begin(name[, kind]): an event of one's own; -1 when off.
static PyObject* begin(PyObject*, PyObject* args) {
    const char* name;
    int kind = static_cast<int>(ProfileEvent::Kind::User);
    if (!PyArg_ParseTuple(args, "s|i", &name, &kind)) return nullptr;
    return guarded([&] { return PyLong_FromLong(begin_event(name, static_cast<ProfileEvent::Kind>(kind))); });
}
static PyObject* end(PyObject*, PyObject* number) {
    long value = PyLong_AsLong(number);
    if (value == -1 && PyErr_Occurred()) return nullptr;
    end_event(static_cast<int32_t>(value));
    Py_RETURN_NONE;
}

bool init_profile(PyObject* module) {
    static PyMethodDef functions[] = {{"_profile_start", start, METH_VARARGS, nullptr},
                                      {"_profile_stop", stop, METH_NOARGS, nullptr},
                                      {"_profile_running", running, METH_NOARGS, nullptr},
                                      {"_profile_begin", begin, METH_VARARGS, nullptr},
                                      {"_profile_end", end, METH_O, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
