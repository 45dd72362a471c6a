// bindings/sizes.cpp: sizes as symbols while a tracer in Python records (core/size.h; kindling/fx/experimental/_sizes.py is the tracer).
// Compiled for size.
#include "bindings/parse.h"
#include "bindings/types.h"

namespace kindling::python {

namespace {

/// While Python is asked: from any thread, and its own use of sizes is not recorded.
struct Asking {
    Lock lock;
    SizesUnrecorded unrecorded;
};

/// A recorder whose work an object of Python does.
class PythonRecorder final : public SizeRecorder {
public:
    explicit PythonRecorder(PyObject* tracer) : tracer_(Object::share(tracer)) {}
    int64_t size_of(const TensorImpl* tensor, int64_t dim) override {
        const Asking here;
        Object header(checked(wrap(const_cast<TensorImpl*>(tensor))));
        return symbol(PyObject_CallMethod(tracer_.get(), "size_of", "OL", header.get(), static_cast<long long>(dim)));
    }
    void stands_for(const TensorImpl* shape, const TensorImpl* tensor) override {
        const Asking here;
        Object of(checked(wrap(const_cast<TensorImpl*>(tensor)))), header(checked(wrap(const_cast<TensorImpl*>(shape))));
        done(PyObject_CallMethod(tracer_.get(), "stands_for", "OO", header.get(), of.get()));
    }
    int64_t step(Step step, Size a, Size b) override {
        const Asking here;
        static constexpr const char* names[] = {"add", "sub", "mul", "floordiv", "mod"};
        return symbol(PyObject_CallMethod(tracer_.get(), "step", "sNN", names[static_cast<int>(step)], object(a), object(b)));
    }
    void decided(Relation relation, Size a, Size b, bool outcome) override {
        const Asking here;
        const char* name = relation == Relation::Equal ? outcome ? "eq" : "ne" : outcome ? "lt" : "ge";
        done(PyObject_CallMethod(tracer_.get(), "decided", "sNN", name, object(a), object(b)));
    }
    void specialised(Size size) override {
        const Asking here;
        done(PyObject_CallMethod(tracer_.get(), "decided", "sNL", "eq", object(size), static_cast<long long>(size.hint())));
    }
    /// A torch.SymInt, or an int where there is no symbol.
    PyObject* object(Size size) {
        return checked(size.symbol() ? PyObject_CallMethod(tracer_.get(), "symint", "LL", static_cast<long long>(size.symbol()),
                                                           static_cast<long long>(size.hint()))
                                     : PyLong_FromLongLong(size.hint()));
    }
    PyObject* tracer() const { return tracer_.get(); }

private:
    static int64_t symbol(PyObject* object) {
        Object held(checked(object));
        const long long number = PyLong_AsLongLong(held.get());
        if (number == -1 && PyErr_Occurred()) throw_python();
        return number;
    }
    static void done(PyObject* object) { Object held(checked(object)); }
    Object tracer_;
};

PythonRecorder* recorder() { return static_cast<PythonRecorder*>(thread_state.sizes); }

/// _C._record_sizes(tracer): from here on this thread's sizes are recorded by `tracer`; None: by nobody. Gives who did before, or None.
PyObject* record(PyObject*, PyObject* tracer) {
    PythonRecorder* before = static_cast<PythonRecorder*>(exchange_recorder(tracer == Py_None ? nullptr : new PythonRecorder(tracer)));
    PyObject* who = Py_NewRef(before ? before->tracer() : Py_None);
    delete before;
    return who;
}

} // namespace

bool symbol_of(PyObject* object, Size& size) {
    if (!thread_state.sizes || PyLong_CheckExact(object) || is_tensor(object)) return false;
    Object node(PyObject_GetAttrString(object, "node")), tracer(node ? PyObject_GetAttrString(node.get(), "tracer") : nullptr);
    if (!tracer || recorder()->tracer() != tracer.get()) {
        PyErr_Clear();
        return false;
    }
    Object value(checked(PyObject_GetAttrString(node.get(), "value"))), symbol(checked(PyObject_GetAttrString(node.get(), "symbol")));
    size = {PyLong_AsLongLong(value.get()), PyLong_AsLongLong(symbol.get())};
    return true;
}

bool symbols_of(PyObject* const* items, Py_ssize_t count, Value& value, Arena& arena) {
    Size each;
    bool any = false;
    for (Py_ssize_t i = 0; i < count && !any; i++) any = symbol_of(items[i], each);
    if (!any) return false;
    int64_t* numbers = arena.get<int64_t>(2 * static_cast<size_t>(count));
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!symbol_of(items[i], each)) {
            int64_t plain;
            if (int_of_object(items[i], plain) != Fit::Yes) {
                PyErr_Clear();
                return false; // who reads it as numbers says what is wrong
            }
            each = plain;
        }
        numbers[i] = each.hint();
        numbers[count + i] = each.symbol();
    }
    value = Value(SizeList::with_symbols(numbers, static_cast<size_t>(count)));
    return true;
}

PyObject* symint_object(Size size) { return thread_state.sizes ? recorder()->object(size) : PyLong_FromLongLong(size.hint()); }

bool init_sizes(PyObject* module) {
    static PyMethodDef functions[] = {{"_record_sizes", record, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
