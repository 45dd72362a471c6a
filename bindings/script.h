// bindings/script.h: scripts in Python: items and objects, functions, units, graphs.
#pragma once
#include <deque>
#include <map>

#include "bindings/python.h"
#include "script/graph/class.h"
#include "script/run/run.h"
#include "script/syntax/parser.h"

namespace kindling::python {

namespace ks = kindling::script;

/// The item that an object is as a value of a type. False, and no error set, if it is none.
bool to_item(PyObject* object, ks::TypeRef type, ks::Item& item);
/// The type that an object has by itself (for Any, and for constants); null if scripts know no such type.
ks::TypeRef inferred_type(PyObject* object);
PyObject* from_item(const ks::Item& item);
ks::Item foreign_item(PyObject* object); // what only Python knows
/// A capsule that holds an item: what objects of scripted classes keep as `_script_item`.
PyObject* item_capsule(const ks::Item& item);
PyObject* type_object(ks::TypeRef type); // of kindling._native_names.types

/// Functions that were compiled together, with what they are made of. Whoever has one of them keeps all of them.
struct Unit : ks::Resolver, std::enable_shared_from_this<Unit> {
    ~Unit() override;
    ks::TypeRef resolve(const std::string& name, const ks::Range& range) override;
    ks::Function* function(const std::string& name) override;
    ks::Outside outside(const std::string& name, const ks::Range& range) override;
    bool default_of(const std::string& parameter, ks::TypeRef type, ks::Item& value) override;

    std::deque<ks::Source> sources;
    ks::Trees trees;
    std::map<std::string, const ks::Tree*> trees_by_name; // not compiled yet
    std::map<std::string, std::unique_ptr<ks::Function>> functions;
    std::vector<std::string> order;
    PyObject* surroundings = nullptr; // asked about names: surroundings(name, is_type)
    PyObject* defaults = nullptr;     // of parameters, where Python knows them
    std::vector<PyObject*> kept;      // other units' functions that are called here
};

/// A unit without functions; both may be None.
std::shared_ptr<Unit> unit_of(PyObject* surroundings, PyObject* defaults);
/// The head of the function in a text (text, file, first line, begin) of Python's: that of an overload.
const ks::Tree* head_in(Unit& unit, PyObject* place, bool is_method);
/// What an answer of Python's says that a name means: None, a ScriptFunction, or a tuple of a word and what belongs to it.
ks::Outside outside_of(PyObject* answer, std::vector<PyObject*>& kept);

/// The Python object of a function: a ScriptFunction.
PyObject* script_function(std::shared_ptr<Unit> unit, ks::Function* function);
ks::Function* function_of(PyObject* object); // null if it is none
/// Calls a function with Python's arguments.
PyObject* call_script(ks::Function& function, PyObject* const* arguments, Py_ssize_t count, PyObject* keyword_names,
                      const ks::Item* self = nullptr);
/// The Python object of a graph.
PyObject* graph_object(std::shared_ptr<ks::Graph> graph);
ks::Graph& graph_in(PyObject* object); // TypeError for anything else
bool init_script_graph(PyObject* module);
PyObject* graph_pass(const char* name);
/// In a catch clause: makes the current exception the Python error; what a script raised is a torch.jit.Error.
PyObject* set_script_error();

template <class F> PyObject* guarded_script(F&& body) {
    try {
        return body();
    } catch (...) { return set_script_error(); }
}

} // namespace kindling::python
