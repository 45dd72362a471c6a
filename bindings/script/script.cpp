// bindings/script/script.cpp: units of scripts and their functions as Python objects, and calls of them.
// Compiled for size.
#include "bindings/script_class.h"

#include <cstring>

#include "bindings/types.h"
#include "core/dispatch.h"
#include "script/graph/code.h"
#include "script/passes/passes.h"
#include "script/run/fork.h"
#include "script/trace/trace.h"

#include <structmember.h>

namespace kindling::python {
namespace {

using ks::Item;

struct ScriptFunction {
    PyObject_HEAD vectorcallfunc vectorcall;
    std::shared_ptr<Unit> unit;
    ks::Function* function;
    PyObject* dict;
    PyObject* weak_references;
};
struct UnitObject {
    PyObject_HEAD std::shared_ptr<Unit> unit;
};
PyTypeObject *function_type = nullptr, *unit_type = nullptr;

ks::Function& function_in(PyObject* self) { return *reinterpret_cast<ScriptFunction*>(self)->function; }
Unit& unit_in(PyObject* self) { return *reinterpret_cast<UnitObject*>(self)->unit; }

PyObject* text_object(const std::string& text) {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

// ---- calls

[[noreturn]] void refuse(const ks::Function& function, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char text[1024];
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fail(ErrorKind::Runtime, "%s%s%s", function.signature.name.c_str(), text, function.signature.text().c_str());
}

/// As PyTorch words it, with what pybind11 says when it cannot convert a part.
[[noreturn]] void refuse_value(const ks::Function& function, size_t place, PyObject* object) {
    const ks::Formal& formal = function.signature.formals[place];
    Object shown(PyObject_Repr(object)), kind(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
    PyErr_Clear();
    std::string text = function.signature.name + "() Expected a value of type '" + repr(formal.type) + "' for argument '" + formal.name +
                       "' but instead found type '" + (kind ? PyUnicode_AsUTF8(kind.get()) : "?") + "'.\n";
    if (formal.type->inferred)
        text += "Inferred '" + formal.name + "' to be of type 'Tensor' because it was not annotated with an explicit type.\n";
    const char* value = shown ? PyUnicode_AsUTF8(shown.get()) : "?";
    text += "Position: " + std::to_string(place) + "\nValue: " + value + "\nDeclaration: " + function.signature.text() +
            "\nCast error details: ";
    if (formal.type->is(ks::TypeKind::Tensor)) text += std::string("Unable to cast ") + value + " to Tensor";
    else if (formal.type->is(ks::TypeKind::Tuple) && PyTuple_Check(object) &&
             static_cast<size_t>(PyTuple_GET_SIZE(object)) != formal.type->parts.size())
        text += std::string("Object ") + value + " had a different number of elements than type " + annotation(formal.type);
    else {
        PyObject *part = object, *key, *value_of_key;
        if (PyDict_Check(object) && formal.type->is(ks::TypeKind::Dict)) // the first part that is in the way
            for (Py_ssize_t at = 0; part == object && PyDict_Next(object, &at, &key, &value_of_key);) {
                Item item;
                if (!to_item(key, formal.type->parts[0], item)) part = key;
                else if (!to_item(value_of_key, formal.type->parts[1], item)) part = value_of_key;
            }
        Object type(PyObject_Str(reinterpret_cast<PyObject*>(Py_TYPE(part))));
        text += std::string("Unable to cast Python instance of type ") + (type ? PyUnicode_AsUTF8(type.get()) : "?") +
                " to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)";
    }
    throw Error(ErrorKind::Runtime, text);
}

Item argument_item(const ks::Function& function, size_t place, PyObject* object) {
    const ks::Formal& formal = function.signature.formals[place];
    Item item;
    if (to_item(object, formal.type, item)) return item;
    if (formal.repeat) { // int[2]: a number stands for a list
        const ks::TypeRef list = formal.type->is(ks::TypeKind::Optional) ? formal.type->element() : formal.type;
        if (to_item(object, list->element(), item)) return Item::list(list, std::vector<Item>(static_cast<size_t>(formal.repeat), item));
    }
    refuse_value(function, place, object);
}

PyObject* call(PyObject* self, PyObject* const* arguments, size_t count, PyObject* names) {
    return call_script(function_in(self), arguments, PyVectorcall_NARGS(count), names);
}

// ---- functions

void function_dealloc(PyObject* object) {
    auto* self = reinterpret_cast<ScriptFunction*>(object);
    PyObject_GC_UnTrack(object);
    if (self->weak_references) PyObject_ClearWeakRefs(object);
    Py_CLEAR(self->dict);
    self->unit.~shared_ptr();
    PyTypeObject* type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}
int function_traverse(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(reinterpret_cast<ScriptFunction*>(object)->dict);
    return 0;
}
int function_clear(PyObject* object) {
    Py_CLEAR(reinterpret_cast<ScriptFunction*>(object)->dict);
    return 0;
}
/// The graph's object; it keeps the unit, whose texts the lines of the graph are of.
PyObject* graph_of_unit(PyObject* self, std::shared_ptr<ks::Graph> graph) {
    struct Kept {
        std::shared_ptr<Unit> unit;
        std::shared_ptr<ks::Graph> graph;
    };
    auto kept = std::make_shared<Kept>(Kept{reinterpret_cast<ScriptFunction*>(self)->unit, std::move(graph)});
    ks::Graph* at = kept->graph.get();
    return graph_object(std::shared_ptr<ks::Graph>(std::move(kept), at));
}
PyObject* get_graph(PyObject* self, void*) {
    return guarded_script([&] { return graph_of_unit(self, function_in(self).graph); });
}
PyObject* get_inlined_graph(PyObject* self, void*) {
    return guarded_script([&] { return graph_of_unit(self, inlined(*function_in(self).graph)); });
}
PyObject* get_code(PyObject* self, void*) {
    return guarded_script([&] { return text_object(code_of(function_in(self))); });
}
/// (text, the tensors that it calls CONSTANTS.c0 and so on)
PyObject* get_code_constants(PyObject* self, void*) {
    return guarded_script([&] {
        std::vector<Item> constants;
        Object text(checked(text_object(code_of(function_in(self), &constants)))), list(checked(PyList_New(0)));
        for (const Item& item : constants) {
            Object each(checked(from_item(item)));
            if (PyList_Append(list.get(), each.get())) throw_python();
        }
        return PyTuple_Pack(2, text.get(), list.get());
    });
}
PyObject* get_name(PyObject* self, void*) { return text_object(function_in(self).signature.name); }
/// (name, its text, [(name, type, length of a list or 0, the default, whether there is one, keyword only)], type of the result)
PyObject* get_signature(PyObject* self, void*) {
    return guarded_script([&] {
        const ks::Signature& signature = function_in(self).signature;
        Object formals(checked(PyList_New(0)));
        for (const ks::Formal& each : signature.formals) {
            Object row(checked(Py_BuildValue("(sNiNii)", each.name.c_str(), type_handle(each.type), each.repeat,
                                             from_item(each.default_value), each.has_default, each.keyword_only)));
            if (PyList_Append(formals.get(), row.get())) throw_python();
        }
        return Py_BuildValue("(ssNN)", signature.name.c_str(), signature.text().c_str(), formals.take(),
                             type_handle(signature.results[0].type));
    });
}
PyObject* repr_function(PyObject* self) { return PyUnicode_FromFormat("<torch.jit.ScriptFunction object at %p>", self); }

/// _loops(): for each loop that might run as machine code, what kept it from that the last time, what kept its rounds from vector lanes,
/// and what from several threads; "" where nothing did. And the line where it begins.
PyObject* loops(PyObject* self, PyObject*) {
    return guarded_script([&] {
        Object all(checked(PyList_New(0)));
        for (const ks::LoopReport& loop : ks::loops_of(function_in(self))) {
            Object each(checked(Py_BuildValue("(sssn)", loop.interpreted.c_str(), loop.narrow.c_str(), loop.together.c_str(),
                                              static_cast<Py_ssize_t>(loop.line))));
            if (PyList_Append(all.get(), each.get())) throw_python();
        }
        return all.take();
    });
}

bool make_function_type() {
    if (function_type) return true;
    static PyMethodDef methods[] = {{"_loops", loops, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
    static PyMemberDef members[] = {
        {"__dictoffset__", T_PYSSIZET, offsetof(ScriptFunction, dict), READONLY, nullptr},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(ScriptFunction, weak_references), READONLY, nullptr},
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(ScriptFunction, vectorcall), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr},
    };
    static PyGetSetDef getset[] = {
        {"graph", get_graph, nullptr, "The graph that it was compiled to.", nullptr},
        {"inlined_graph", get_inlined_graph, nullptr, "The graph with what it calls in the place of the calls.", nullptr},
        {"code", get_code, nullptr, "The graph as TorchScript's text.", nullptr},
        {"_code_constants", get_code_constants, nullptr, nullptr, nullptr},
        {"name", get_name, nullptr, nullptr, nullptr},
        {"_signature", get_signature, nullptr, nullptr, nullptr},
        {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
        {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
        {Py_tp_traverse, reinterpret_cast<void*>(function_traverse)},
        {Py_tp_clear, reinterpret_cast<void*>(function_clear)},
        {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
        {Py_tp_repr, reinterpret_cast<void*>(repr_function)},
        {Py_tp_methods, methods},
        {Py_tp_members, members},
        {Py_tp_getset, getset},
        {0, nullptr},
    };
    static PyType_Spec spec = {"torch._C._ScriptFunction", sizeof(ScriptFunction), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_BASETYPE, slots};
    function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return function_type != nullptr;
}
PyTypeObject* face_type = nullptr; // kindling.jit's class over it, with what is written in Python

// ---- units

void unit_dealloc(PyObject* object) {
    reinterpret_cast<UnitObject*>(object)->unit.~shared_ptr();
    PyTypeObject* type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}

} // namespace
const ks::Tree* head_in(Unit& unit, PyObject* place, bool is_method) {
    const char *text, *file;
    Py_ssize_t size, line, begin;
    if (!PyArg_ParseTuple(place, "s#snn", &text, &size, &file, &line, &begin)) throw_python();
    unit.sources.push_back({std::string(text, static_cast<size_t>(size)), file, static_cast<size_t>(line), static_cast<size_t>(begin)});
    return ks::Parser(unit.sources.back(), unit.trees, true).function(is_method)->parts[1];
}
namespace {

/// define(text, file, first line, begin, python, defaults, head): reads functions; they are compiled when they are asked for. The names.
PyObject* define(PyObject* self, PyObject* args) {
    const char *text, *file;
    Py_ssize_t size, line, begin;
    int python;
    PyObject *defaults = Py_None, *head = Py_None;
    if (!PyArg_ParseTuple(args, "s#snnp|OO:define", &text, &size, &file, &line, &begin, &python, &defaults, &head)) return nullptr;
    return guarded_script([&] {
        Unit& unit = unit_in(self);
        if (defaults != Py_None) {
            Py_XDECREF(unit.defaults);
            unit.defaults = Py_NewRef(defaults);
        }
        unit.sources.push_back({std::string(text, static_cast<size_t>(size)), file, static_cast<size_t>(line), static_cast<size_t>(begin)});
        ks::Parser parser(unit.sources.back(), unit.trees, python);
        Object names(checked(PyList_New(0)));
        while (!parser.at_end()) {
            const ks::Tree* tree = parser.function();
            if (head != Py_None)
                tree = unit.trees.make(tree->kind, tree->range, {tree->parts[0], head_in(unit, head, false), tree->parts[2]});
            const std::string& name = tree->name();
            KINDLING_CHECK(Runtime, !unit.functions.count(name) && !unit.trees_by_name.count(name), "method '%s' already defined.",
                           name.c_str());
            unit.trees_by_name[name] = tree;
            unit.order.push_back(name);
            Object object(checked(text_object(name)));
            if (PyList_Append(names.get(), object.get())) throw_python();
            if (python) break;
        }
        return names.take();
    });
}
/// get(name): the function, compiled; None if there is none.
PyObject* get(PyObject* self, PyObject* name) {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) return nullptr;
    return guarded_script([&]() -> PyObject* {
        ks::Function* function = unit_in(self).function(text);
        if (!function) Py_RETURN_NONE;
        if (!function->code.load(std::memory_order_acquire)) prepare(*function);
        return script_function(reinterpret_cast<UnitObject*>(self)->unit, function);
    });
}
PyObject* names_of(PyObject* self, PyObject*) {
    return guarded_script([&] {
        Object names(checked(PyList_New(0)));
        for (const std::string& name : unit_in(self).order) {
            Object object(checked(text_object(name)));
            if (PyList_Append(names.get(), object.get())) throw_python();
        }
        return names.take();
    });
}
/// _script_unit(surroundings): a unit of functions; the callable is asked what names mean that no function has.
PyObject* make_unit(PyObject*, PyObject* surroundings) {
    static PyMethodDef methods[] = {{"define", define, METH_VARARGS, nullptr},
                                    {"get", get, METH_O, nullptr},
                                    {"names", names_of, METH_NOARGS, nullptr},
                                    {nullptr, nullptr, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(unit_dealloc)}, {Py_tp_methods, methods}, {0, nullptr}};
    static PyType_Spec spec = {"torch._C._ScriptUnit", sizeof(UnitObject), 0, Py_TPFLAGS_DEFAULT, slots};
    if (!unit_type && !(unit_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)))) return nullptr;
    auto* self = reinterpret_cast<UnitObject*>(unit_type->tp_alloc(unit_type, 0));
    if (!self) return nullptr;
    new (&self->unit) std::shared_ptr<Unit>();
    return guarded_script([&] {
        self->unit = unit_of(surroundings, Py_None);
        return reinterpret_cast<PyObject*>(self);
    });
}

/// _script_has("aten::add"): whether scripts know an operator or a builtin of that name.
PyObject* has_signature(PyObject*, PyObject* name) {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) return nullptr;
    return guarded_script([&] { return PyBool_FromLong(!ks::signatures_of(text).empty()); });
}

/// _script_function_type(face): the class whose objects functions are from now on; without an argument, the native base.
PyObject* set_face(PyObject*, PyObject* face) {
    if (!make_function_type()) return nullptr;
    if (face == Py_None) return Py_NewRef(reinterpret_cast<PyObject*>(function_type));
    if (!PyType_Check(face) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(face), function_type)) {
        PyErr_SetString(PyExc_TypeError, "_script_function_type: a subclass is wanted");
        return nullptr;
    }
    face_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(face));
    Py_RETURN_NONE;
}

} // namespace

// ---- units

Unit::~Unit() {
    Lock lock;
    Py_XDECREF(surroundings);
    Py_XDECREF(defaults);
    for (PyObject* each : kept) Py_DECREF(each);
}

ks::Function* Unit::function(const std::string& name) {
    if (const auto found = functions.find(name); found != functions.end()) {
        return trees_by_name.count(name) ? nullptr : found->second.get(); // being compiled: `outside` says so, and where
    }
    const auto tree = trees_by_name.find(name);
    if (tree == trees_by_name.end()) return nullptr;
    auto& made = functions[name];
    made = std::make_unique<ks::Function>();
    made->name = name;
    made->owner = weak_from_this();
    try {
        lower(*tree->second, *this, *made);
    } catch (...) {
        functions.erase(name);
        throw;
    }
    trees_by_name.erase(name);
    return made.get();
}

ks::TypeRef Unit::resolve(const std::string& name, const ks::Range& range) {
    if (!surroundings) return nullptr;
    Object text(checked(text_object(name)));
    Object answer(checked(PyObject_CallFunctionObjArgs(surroundings, text.get(), Py_True, nullptr)));
    if (answer.get() == Py_None) return nullptr;
    if (const ks::TypeRef type = type_of_handle(answer.get())) return type;
    const char* meaning = PyUnicode_AsUTF8(answer.get());
    if (!meaning) throw_python();
    if (name == meaning) return nullptr;
    sources.push_back({meaning, range.source ? range.source->file : "<string>", 1, 0});
    ks::Parser parser(sources.back(), trees, true);
    return read_type(*parser.expression(), nullptr);
}

ks::Outside Unit::outside(const std::string& name, const ks::Range& range) {
    if (functions.count(name)) fail_at(range, " function '%s' is called recursively. Recursive calls are not supported", name.c_str());
    if (!surroundings) return {};
    Object text(checked(text_object(name)));
    Object answer(checked(PyObject_CallFunctionObjArgs(surroundings, text.get(), Py_False, nullptr)));
    return outside_of(answer.get(), kept);
}

static std::string word_in(PyObject* object) {
    const char* text = PyUnicode_AsUTF8(object);
    if (!text) throw_python();
    return text;
}

/// Whether Python's functions share it from call to call.
static bool changes(PyObject* value) {
    if (PyList_Check(value) || PyDict_Check(value)) return true;
    for (Py_ssize_t i = 0; PyTuple_Check(value) && i < PyTuple_GET_SIZE(value); i++)
        if (changes(PyTuple_GET_ITEM(value, i))) return true;
    return false;
}
bool Unit::default_of(const std::string& parameter, ks::TypeRef type, Item& value) {
    PyObject* given = defaults ? PyDict_GetItemString(defaults, parameter.c_str()) : nullptr;
    if (!given) return false;
    if (given == Py_None && type->is(ks::TypeKind::Tensor)) return true; // no tensor: only what reads it says so
    if (changes(given)) {
        Object shown(checked(PyObject_Str(reinterpret_cast<PyObject*>(Py_TYPE(given)))));
        fail(ErrorKind::Runtime,
             "Mutable default parameters are not supported because Python binds them to the function and they persist across function "
             "calls.\n As a workaround, make the default None and instantiate the default parameter within the body of the function. "
             "Found %s on parameter %s",
             word_in(shown.get()).c_str(), parameter.c_str());
    }
    if (!to_item(given, type, value))
        fail(ErrorKind::Runtime, "Expected a default value of type %s on parameter \"%s\".%s", repr(type).c_str(), parameter.c_str(),
             type->inferred
                 ? ("Because \"" + parameter + "\" was not annotated with an explicit type it is assumed to be type 'Tensor'.").c_str()
                 : "");
    return true;
}

std::shared_ptr<Unit> unit_of(PyObject* surroundings, PyObject* defaults) {
    const auto unit = std::make_shared<Unit>();
    if (surroundings != Py_None) unit->surroundings = Py_NewRef(surroundings);
    if (defaults != Py_None) unit->defaults = Py_NewRef(defaults);
    return unit;
}

/// ("foreign", callable or None where a call raises, [(name, type, has a default, the default)], result type, whether self comes first)
static ks::Outside foreign_of(PyObject* answer) {
    ks::Outside made;
    made.kind = ks::Outside::Foreign;
    PyObject *callee, *formals, *result;
    const char* kind;
    int takes_self = 0;
    if (!PyArg_ParseTuple(answer, "sOO!O|p", &kind, &callee, &PyList_Type, &formals, &result, &takes_self)) throw_python();
    if (callee != Py_None) made.constant = foreign_item(callee);
    made.place = static_cast<size_t>(takes_self);
    made.signature.name = "python";
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(formals); i++) {
        const char* name;
        PyObject *type, *value;
        int has_default;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(formals, i), "sOpO", &name, &type, &has_default, &value)) throw_python();
        ks::Formal formal;
        formal.name = name;
        formal.type = type_of_handle(type);
        if (!formal.type) formal.type = ks::inferred_tensor();
        if (has_default) {
            formal.has_default = to_item(value, formal.type,
                                         formal.default_value); // of a parameter without annotation it may be no tensor: it has to be given
        }
        made.signature.formals.push_back(formal);
    }
    ks::Formal given;
    given.type = type_of_handle(result) ? type_of_handle(result) : ks::type_of(ks::TypeKind::Tensor);
    made.signature.results.push_back(given);
    return made;
}

ks::Outside outside_of(PyObject* answer, std::vector<PyObject*>& kept) {
    ks::Outside made;
    if (answer == Py_None) return made;
    if (ks::Function* function = function_of(answer)) {
        kept.push_back(Py_NewRef(answer));
        made.kind = ks::Outside::Script;
        made.function = function;
        return made;
    }
    if (!PyTuple_Check(answer) || !PyTuple_GET_SIZE(answer)) fail(ErrorKind::Type, "what a name means to a script is told by a tuple");
    const std::string kind = word_in(PyTuple_GET_ITEM(answer, 0));
    const auto part = [&](Py_ssize_t i) {
        PyObject* object = PyTuple_GetItem(answer, i);
        if (!object) throw_python();
        return object;
    };
    static constexpr struct {
        char name[10];
        ks::Outside::Kind kind;
    } named[] = {{"builtin", ks::Outside::Builtin},
                 {"exception", ks::Outside::Exception},
                 {"special", ks::Outside::Special},
                 {"unusable", ks::Outside::Unusable}};
    for (const auto& each : named)
        if (kind == each.name) made.kind = each.kind, made.name = word_in(part(1));
    if (made.kind == ks::Outside::Unusable && PyTuple_GET_SIZE(answer) == 3) made.constant = foreign_item(part(2));
    if (kind == "module") made.kind = ks::Outside::Module;
    else if (kind == "constant") {
        const ks::TypeRef type = inferred_type(part(1));
        KINDLING_CHECK(Runtime, type && to_item(part(1), type, made.constant), "python value of type '%s' cannot be used as a value",
                       Py_TYPE(part(1))->tp_name);
        made.kind = ks::Outside::Constant;
    } else if (kind == "type") {
        made.kind = ks::Outside::Type;
        made.type = type_of_handle(part(1));
    } else if (kind == "foreign") return foreign_of(answer);
    else if (kind == "functions") { // overloads, the first that fits
        PyObject* all = part(1);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++) {
            ks::Outside each = outside_of(PyList_GET_ITEM(all, i), kept);
            if (i) made.parts.push_back(each);
            else made = each;
        }
    } else if (kind == "choice") { // ("choice", flag, place, default, if true, if false)
        made.kind = ks::Outside::Choice;
        made.name = word_in(part(1));
        made.place = static_cast<size_t>(PyLong_AsSsize_t(part(2)));
        made.constant = Item(part(3) == Py_True);
        made.parts = {outside_of(part(4), kept), outside_of(part(5), kept)};
    }
    return made;
}

PyObject* script_function(std::shared_ptr<Unit> unit, ks::Function* function) {
    if (!make_function_type()) return nullptr;
    if (!face_type) { // kindling.jit brings it
        Object loaded(checked(PyImport_ImportModule("kindling.jit._script_function")));
    }
    PyTypeObject* type = face_type ? face_type : function_type;
    auto* self = reinterpret_cast<ScriptFunction*>(type->tp_alloc(type, 0));
    if (!self) throw_python();
    new (&self->unit) std::shared_ptr<Unit>(std::move(unit));
    self->vectorcall = call;
    self->function = function;
    return reinterpret_cast<PyObject*>(self);
}
ks::Function* function_of(PyObject* object) {
    return function_type && PyObject_TypeCheck(object, function_type) ? &function_in(object) : nullptr;
}

/// "forward" of "__torch__.Net.forward".
static std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

PyObject* call_script(ks::Function& function, PyObject* const* arguments, Py_ssize_t count, PyObject* keyword_names, const Item* self) {
    return guarded_script([&] {
        const auto& formals = function.signature.formals;
        const size_t skip = self ? 1 : 0, given = static_cast<size_t>(count) + skip;
        const Py_ssize_t keywords = keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0;
        if (given > formals.size())
            refuse(function, "() expected at most %zu argument(s) but received %zu argument(s). Declaration: ", formals.size(),
                   given + static_cast<size_t>(keywords));
        std::vector<Item> items(formals.size());
        std::vector<bool> known(formals.size(), false);
        if (self) items[0] = *self, known[0] = true;
        for (size_t i = skip; i < given; i++) {
            items[i] = argument_item(function, i, arguments[i - skip]);
            known[i] = true;
        }
        for (Py_ssize_t k = 0; k < keywords; k++) {
            const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(keyword_names, k));
            if (!name) throw_python();
            size_t place = 0;
            while (place < formals.size() && formals[place].name != name) place++;
            if (place == formals.size())
                fail(ErrorKind::Runtime, "Unknown keyword argument '%s' for operator '%s'. Schema: %s", name,
                     function.signature.name.c_str(), function.signature.text().c_str());
            if (known[place])
                fail(ErrorKind::Runtime, "Argument '%s' specified both as positional and keyword argument. Schema: %s", name,
                     function.signature.text().c_str());
            items[place] = argument_item(function, place, arguments[count + k]);
            known[place] = true;
        }
        for (size_t i = 0; i < formals.size(); i++) {
            if (known[i]) continue;
            if (!formals[i].has_default) refuse(function, "() is missing value for argument '%s'. Declaration: ", formals[i].name.c_str());
            items[i] = formals[i].default_value;
        }
        Item result;
        if (ks::Tracer* trace = ks::tracer()) {
            result =
                self ? trace->call_method(function, last_part(function.name), std::move(items)) : trace->call(function, std::move(items));
        } else {
            Unlocked unlocked(true); // scripts need no interpreter; what calls Python takes its lock
            result = run(function, std::move(items));
        }
        return from_item(result);
    });
}

PyObject* set_script_error() {
    try {
        throw;
    } catch (const ks::Raised& raised) {
        Object error_class(import("kindling._native_names.script", "JITException"));
        if (!error_class) return nullptr;
        Object text(text_object(raised.what()));
        if (text) PyErr_SetObject(error_class.get(), text.get());
        return nullptr;
    } catch (const ks::NotSupported& refused) {
        Object error_class(import("kindling.jit._frontend", refused.python_class));
        if (error_class) PyErr_SetString(error_class.get(), refused.what());
        return nullptr;
    } catch (...) { return set_error(); }
}

PyObject* type_object(ks::TypeRef type) {
    Object make(checked(import("kindling.jit._types", "type_of"))), handle(checked(type_handle(type)));
    return PyObject_CallOneArg(make.get(), handle.get());
}

static void print_here(const std::string& text) {
    Lock lock;
    PyObject* out = PySys_GetObject("stdout");
    if (!out || out == Py_None) return;
    Object object(checked(text_object(text)));
    if (PyFile_WriteObject(object.get(), out, Py_PRINT_RAW)) throw_python();
}
static Item call_here(void* object, const Item* arguments, size_t count, ks::TypeRef result) {
    Lock lock;
    Object tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(count))));
    for (size_t i = 0; i < count; i++) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(from_item(arguments[i])));
    Object given(checked(PyObject_CallObject(static_cast<PyObject*>(object), tuple.get())));
    Item item;
    if (result)
        KINDLING_CHECK(Runtime, to_item(given.get(), result, item), "expected a value of type %s from a Python function, but it gave %s",
                       repr(result).c_str(), Py_TYPE(given.get())->tp_name);
    return item;
}

/// What a script's future gives, or whether it is there.
static ks::Future& future_in(PyObject* capsule) {
    auto* item = static_cast<Item*>(PyCapsule_GetPointer(capsule, "kindling.script.Item"));
    if (!item) throw_python();
    KINDLING_CHECK(Type, item->is(Item::Tag::Future), "expected what torch.jit.fork gave in a script");
    return *static_cast<ks::Future*>(item->object());
}
static PyObject* wait_for(PyObject*, PyObject* capsule) {
    return guarded_script([&] {
        ks::Future& future = future_in(capsule);
        Item result;
        {
            Unlocked unlocked(true);
            result = wait_outside(future);
        }
        return from_item(result);
    });
}
static PyObject* is_done(PyObject*, PyObject* capsule) {
    return guarded_script([&] { return PyBool_FromLong(future_in(capsule).done()); });
}

bool init_script(PyObject* module) {
    if (!init_script_class(module) || !init_script_graph(module)) return false;
    static PyMethodDef functions[] = {
        {"_script_unit", make_unit, METH_O, nullptr},    {"_script_function_type", set_face, METH_O, nullptr},
        {"_script_has", has_signature, METH_O, nullptr}, {"_script_wait", wait_for, METH_O, nullptr},
        {"_script_done", is_done, METH_O, nullptr},      {nullptr, nullptr, 0, nullptr},
    };
    ks::print_text = print_here;
    ks::call_foreign = call_here;
    ks::generator_in = [](void* object) { return generator_of(static_cast<PyObject*>(object)); };
    ks::make_generator = []() -> Item {
        Lock lock;
        Object type(checked(import("kindling._C", "Generator"))), made(checked(PyObject_CallNoArgs(type.get())));
        return foreign_item(made.get());
    };
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
