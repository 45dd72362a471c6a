// bindings/compiled.cpp: what torch.compile gives for a function; and work that a program's own backend has put off.
// Compiled for size.
#include <algorithm>
#include <utility>

#include "bindings/types.h"
#include "core/thread_state.h"
#include "graph/pending.h"

#include <structmember.h>

namespace kindling::python {
namespace {

/// Of this thread: how many compiled calls are open, and how many of them have to stay in one graph.
constinit thread_local int compiled_calls __attribute__((tls_model("initial-exec"))) = 0;
constinit thread_local int whole_calls __attribute__((tls_model("initial-exec"))) = 0;

/// How a function is called.
enum Kind : int {
    Fused, // loops are put off
    Eager, // as it is; but the program is told that it is compiled
    Apart, // outside of any compiled call (torch.compiler.disable)
};

struct Compiled {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject* function;
    PyObject* dict;
    PyObject* weak_references;
    int kind;
    bool whole;           // fullgraph
    uint8_t idle;         // of the last calls, how many gained nothing: no loop was put off, or none joined another
    uint8_t skipped;      // calls since then that were not recorded
    int64_t largest_idle; // elements of arguments of such a call
};

/// After so many calls that put nothing off, calls with no larger arguments are not recorded, but for one of so many.
constexpr int idle_calls = 32, skipped_calls = 63;

PyTypeObject* compiled_type = nullptr;

bool begin_region() {
    return guarded_int([] {
               begin_recording();
               return 0;
           }) == 0;
}
/// With an error set or not: ends the region, and says whether it put nothing off. False if an error is set afterwards; that of the
/// call comes first.
bool end_region(bool failed, bool& idle) {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    if (failed) PyErr_Fetch(&type, &value, &traceback);
    const bool ended = guarded_int([&] {
                           idle = end_recording();
                           return 0;
                       }) == 0;
    if (!failed) return ended;
    if (!ended) PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return false;
}

/// What the open call with fullgraph refused first.
constinit thread_local PyObject* refused = nullptr;

/// Takes the error that is set, and sets it again.
void keep_refused() {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (!refused) refused = Py_NewRef(value);
    PyErr_Restore(type, value, traceback);
}
/// The call ends with that error, even if the program caught it: it was no part of what is compiled, so no `except` can see it.
PyObject* with_refused(PyObject* result) {
    Object error(std::exchange(refused, nullptr));
    Py_XDECREF(result);
    PyErr_Clear();
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    return nullptr;
}

PyObject* call_apart(Compiled* self, PyObject* const* arguments, size_t count, PyObject* names) {
    if (!refuse_break("refuse_apart", self->function)) return nullptr;
    const int calls = std::exchange(compiled_calls, 0);
    PyObject* result;
    {
        RunNow now;
        result = PyObject_Vectorcall(self->function, arguments, count, names);
    }
    compiled_calls = calls;
    return result;
}

int64_t elements_of(PyObject* const* arguments, size_t count) {
    int64_t all = 0;
    for (size_t i = 0; i < count; i++)
        if (is_tensor(arguments[i])) all += impl_of(arguments[i])->numel;
    return all;
}

PyObject* call(PyObject* object, PyObject* const* arguments, size_t count, PyObject* names) {
    auto* self = reinterpret_cast<Compiled*>(object);
    if (self->kind == Apart) return call_apart(self, arguments, count, names);
    const size_t given = static_cast<size_t>(PyVectorcall_NARGS(count));
    bool records = self->kind == Fused;
    if (records && self->idle == idle_calls && self->skipped < skipped_calls && elements_of(arguments, given) <= self->largest_idle) {
        records = false;
        self->skipped++;
    }
    if (records && !begin_region()) return nullptr;
    compiled_calls++;
    whole_calls += self->whole;
    PyObject* result = PyObject_Vectorcall(self->function, arguments, count, names);
    whole_calls -= self->whole;
    compiled_calls--;
    if (refused && !whole_calls) [[unlikely]]
        result = with_refused(result);
    if (!records) return result;
    bool idle = false;
    if (!end_region(!result, idle)) Py_CLEAR(result);
    self->skipped = 0;
    if (!idle) {
        self->idle = 0;
        self->largest_idle = 0;
    } else if (self->idle < idle_calls) {
        self->idle++;
        self->largest_idle = std::max(self->largest_idle, elements_of(arguments, given));
    }
    return result;
}

int traverse(PyObject* object, visitproc visit, void* arg) {
    auto* self = reinterpret_cast<Compiled*>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->function);
    Py_VISIT(self->dict);
    return 0;
}
int clear(PyObject* object) {
    auto* self = reinterpret_cast<Compiled*>(object);
    Py_CLEAR(self->function);
    Py_CLEAR(self->dict);
    return 0;
}
void dealloc(PyObject* object) {
    PyObject_GC_UnTrack(object);
    if (reinterpret_cast<Compiled*>(object)->weak_references) PyObject_ClearWeakRefs(object);
    clear(object);
    PyTypeObject* type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}
PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
    if (!object || object == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, object);
}
PyObject* repr(PyObject* object) { return PyUnicode_FromFormat("<compiled %R>", reinterpret_cast<Compiled*>(object)->function); }
/// By its name, as functions are pickled and copied.
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

bool make_type() {
    if (compiled_type) return true;
    static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
    static PyMemberDef members[] = {
        {"__dictoffset__", T_PYSSIZET, offsetof(Compiled, dict), READONLY, nullptr},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(Compiled, weak_references), READONLY, nullptr},
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(Compiled, vectorcall), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr},
    };
    static PyGetSetDef getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
        {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
        {Py_tp_clear, reinterpret_cast<void*>(clear)},
        {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
        {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
        {Py_tp_repr, reinterpret_cast<void*>(repr)},
        {Py_tp_methods, methods},
        {Py_tp_members, members},
        {Py_tp_getset, getset},
        {0, nullptr},
    };
    static PyType_Spec spec = {"torch._C._Compiled", sizeof(Compiled), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
    compiled_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return compiled_type != nullptr;
}

/// _compiled(function, kind, fullgraph)
PyObject* make(PyObject*, PyObject* args) {
    PyObject* function;
    int kind, whole;
    if (!PyArg_ParseTuple(args, "Oip:_compiled", &function, &kind, &whole) || !make_type()) return nullptr;
    auto* self = reinterpret_cast<Compiled*>(compiled_type->tp_alloc(compiled_type, 0));
    if (!self) return nullptr;
    self->vectorcall = call;
    self->function = Py_NewRef(function);
    self->kind = kind;
    self->whole = whole;
    return reinterpret_cast<PyObject*>(self);
}

PyObject* is_compiling(PyObject*, PyObject*) { return PyBool_FromLong(compiled_calls > 0); }
PyObject* is_whole(PyObject*, PyObject*) { return PyBool_FromLong(whole_calls > 0); }

// ---- what a program's own backend has put off

/// _PutOff(run): memory that `run()` will fill. Whoever asks for it calls that first.
struct PutOff {
    PyObject_HEAD Foreign* queue;
};
PyTypeObject* put_off_type = nullptr;

void run_python(void* context) {
    Lock lock;
    Object ran(checked(PyObject_CallNoArgs(static_cast<PyObject*>(context))));
}
void drop_python(void* context) {
    Lock lock;
    Py_DECREF(static_cast<PyObject*>(context));
}

Foreign* queue_of(PyObject* self) { return reinterpret_cast<PutOff*>(self)->queue; }
Storage* storage_behind(PyObject* tensor) {
    if (!is_tensor(tensor)) {
        PyErr_Format(PyExc_TypeError, "expected a tensor, not %s", Py_TYPE(tensor)->tp_name);
        throw_python();
    }
    Storage* storage = impl_of(tensor)->storage;
    KINDLING_CHECK(Runtime, storage, "a tensor without memory cannot be put off");
    return storage;
}

/// touch(tensor, written, made) -> the slot of its memory, which is read, written, or was made to be filled
PyObject* touch(PyObject* self, PyObject* args) {
    PyObject* tensor;
    int written, made;
    if (!PyArg_ParseTuple(args, "Opp:touch", &tensor, &written, &made)) return nullptr;
    return guarded([&] { return PyLong_FromLongLong(queue_of(self)->touch(storage_behind(tensor), written, made)); });
}
/// number(tensor): the Python number that it was made of (where(x > 0, x, 2)), which takes part in type promotion as
/// such; None for others
PyObject* number(PyObject*, PyObject* tensor) {
    return guarded([&]() -> PyObject* {
        if (!is_tensor(tensor) || !impl_of(tensor)->wrapped_number) Py_RETURN_NONE;
        return scalar_object(tensor_of(tensor).item_scalar());
    });
}
PyObject* draw(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        queue_of(self)->draw();
        Py_RETURN_NONE;
    });
}
PyObject* hold(PyObject* self, PyObject*) {
    return guarded([&] {
        queue_of(self)->hold();
        return Py_NewRef(self);
    });
}
PyObject* let_go(PyObject* self, PyObject*) {
    queue_of(self)->let_go();
    Py_RETURN_NONE;
}
/// is_visible(tensor): whether others may read or write its memory at any time.
PyObject* is_visible(PyObject*, PyObject* tensor) {
    return guarded([&] { return PyBool_FromLong(kindling::is_visible(*storage_behind(tensor))); });
}
/// memory(tensor): a number that tensors over one memory share.
PyObject* memory(PyObject*, PyObject* tensor) {
    return guarded([&] { return PyLong_FromVoidPtr(storage_behind(tensor)); });
}
/// slot(tensor): -1 where its memory is not put off here.
PyObject* slot(PyObject* self, PyObject* tensor) {
    return guarded([&]() -> PyObject* {
        Storage* storage = is_tensor(tensor) ? impl_of(tensor)->storage : nullptr;
        return PyLong_FromLongLong(storage ? queue_of(self)->slot(storage) : -1);
    });
}
/// is_wanted(slot): whether anybody but the queue holds the memory.
PyObject* is_wanted(PyObject* self, PyObject* number) {
    const long long slot = PyLong_AsLongLong(number);
    if (slot == -1 && PyErr_Occurred()) return nullptr;
    return PyBool_FromLong(queue_of(self)->is_wanted(slot));
}
/// fill(slot, tensor): the tensor's memory becomes that of the slot. False, and nothing done, if others hold it or it
/// is of another size.
PyObject* fill(PyObject* self, PyObject* args) {
    long long slot;
    PyObject* tensor;
    if (!PyArg_ParseTuple(args, "LO:fill", &slot, &tensor)) return nullptr;
    return guarded([&] { return PyBool_FromLong(queue_of(self)->fill(slot, storage_behind(tensor))); });
}
PyObject* run_now(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        queue_of(self)->run();
        Py_RETURN_NONE;
    });
}
void drop_put_off(PyObject* self) {
    give_back(queue_of(self));
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/// _put_off(run) -> a queue of memory that `run` fills
PyObject* make_put_off(PyObject*, PyObject* function) {
    static PyMethodDef methods[] = {
        {"touch", touch, METH_VARARGS, nullptr},   {"number", number, METH_O, nullptr},         {"draw", draw, METH_NOARGS, nullptr},
        {"slot", slot, METH_O, nullptr},           {"is_wanted", is_wanted, METH_O, nullptr},   {"fill", fill, METH_VARARGS, nullptr},
        {"run", run_now, METH_NOARGS, nullptr},    {"is_visible", is_visible, METH_O, nullptr}, {"memory", memory, METH_O, nullptr},
        {"__enter__", hold, METH_NOARGS, nullptr}, {"__exit__", let_go, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(drop_put_off)}, {Py_tp_methods, methods}, {0, nullptr}};
    static PyType_Spec spec = {"torch._C._PutOff", sizeof(PutOff), 0, Py_TPFLAGS_DEFAULT, slots};
    if (!put_off_type && !(put_off_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)))) return nullptr;
    auto* self = reinterpret_cast<PutOff*>(put_off_type->tp_alloc(put_off_type, 0));
    if (!self) return nullptr;
    self->queue = take_foreign(run_python, drop_python, Py_NewRef(function));
    return reinterpret_cast<PyObject*>(self);
}

} // namespace

bool refuse_break(const char* what, PyObject* object) {
    if (!whole_calls) [[likely]]
        return true;
    Object refuse(import("kindling._compiling.breaks", what)), told(refuse ? PyObject_CallOneArg(refuse.get(), object) : nullptr);
    if (!told) keep_refused();
    return static_cast<bool>(told);
}

bool init_compiled(PyObject* module) {
    static PyMethodDef functions[] = {
        {"_compiled", make, METH_VARARGS, nullptr},
        {"_is_compiling", is_compiling, METH_NOARGS, nullptr},
        {"_is_whole", is_whole, METH_NOARGS, nullptr},
        {"_put_off", make_put_off, METH_O, nullptr},
        {nullptr, nullptr, 0, nullptr},
    };
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
