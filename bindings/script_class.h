// bindings/script_class.h: types, classes and objects of scripts in Python.
#pragma once
#include <set>

#include "bindings/script.h"

namespace kindling::python {

/// A class of Python's as a class of scripts. It lives for good.
struct PyClass final : ks::Class {
    struct Text {
        std::shared_ptr<Unit> unit;
        const ks::Tree* tree;
    };

    ks::Function* compile(const std::string& method) override;
    ks::Outside outside(const std::string& name, const ks::Range& range) override;
    std::string why_not(const std::string& name) override;
    /// `own`: as a method of its objects; else a function of its own that takes one (a hook).
    ks::Function* compile_as(const std::string& method, bool own);

    PyObject *python_class = nullptr, *asked = nullptr;
    std::map<std::string, Text> texts;
    std::set<std::string> compiling;
    std::vector<std::string> compiled; // in order
    bool promised_done = false;
};

PyObject* type_handle(ks::TypeRef type);          // a _ScriptType
ks::TypeRef type_of_handle(PyObject* object);     // null if it is none
PyObject* object_of_item(const ks::Item& item);   // a ScriptObject
const ks::Item* item_of_object(PyObject* object); // null if it is none
PyObject* bound_method(PyObject* owner, ks::Function* function);
/// An object of a scripted class, a module or an enum as an item, and the reverse.
bool class_item(PyObject* object, ks::TypeRef type, ks::Item& item);
PyObject* class_object_of(const ks::Item& item);
PyObject* named_tuple_object(ks::TypeRef type, PyObject* values); // null: of no class of Python's
bool init_script_class(PyObject* module);

} // namespace kindling::python
