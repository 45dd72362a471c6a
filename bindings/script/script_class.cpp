// bindings/script/script_class.cpp: types, classes and objects of scripts in Python. What a class of Python's means to a script is found
// out by kindling.jit; here its attributes and the text of its methods are kept, and methods are compiled when they are asked for.
// Compiled for size.
#include "bindings/script_class.h"

#include <cstring>
#include <set>

#include "bindings/types.h"
#include "script/passes/freeze.h"
#include "script/trace/trace.h"

#include <structmember.h>

namespace kindling::python {
namespace {

using ks::Item;
using ks::TypeKind;
using ks::TypeRef;

PyTypeObject *handle_type = nullptr, *class_object_type = nullptr, *object_type = nullptr, *method_type = nullptr;

PyObject* text_object(const std::string& text) {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}
const char* checked_text(PyObject* object) {
    const char* text = PyUnicode_AsUTF8(object);
    if (!text) throw_python();
    return text;
}
template <class T> T* make_object(PyTypeObject*& type, PyType_Spec& spec) {
    if (!type && !(type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)))) throw_python();
    auto* self = reinterpret_cast<T*>(type->tp_alloc(type, 0));
    if (!self) throw_python();
    return self;
}
void plain_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    type->tp_free(object);
    Py_DECREF(type);
}

// ---- types

struct Handle {
    PyObject_HEAD TypeRef type;
};

PyObject* handle_compare(PyObject* a, PyObject* b, int how) {
    if ((how != Py_EQ && how != Py_NE) || !type_of_handle(a) || !type_of_handle(b)) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((type_of_handle(a) == type_of_handle(b)) == (how == Py_EQ));
}

} // namespace

TypeRef type_of_handle(PyObject* object) {
    return handle_type && Py_TYPE(object) == handle_type ? reinterpret_cast<Handle*>(object)->type : nullptr;
}

PyObject* type_handle(TypeRef type) {
    static PyMethodDef methods[] = {
        {"str", [](PyObject* self, PyObject*) { return text_object(str(type_of_handle(self))); }, METH_NOARGS, nullptr},
        {"promised",
         [](PyObject* self, PyObject*) -> PyObject* { // the methods of an interface; None for another type
             const TypeRef type = type_of_handle(self);
             if (!type->is(TypeKind::Class) || !type->definition || type->definition->kind != PyClass::Interface) Py_RETURN_NONE;
             Object all(PyList_New(0));
             for (const ks::Signature& each : type->definition->promised) {
                 Object name(text_object(each.name));
                 if (!all || !name || PyList_Append(all.get(), name.get())) return nullptr;
             }
             return all.take();
         },
         METH_NOARGS, nullptr},
        {"parts",
         [](PyObject* self, PyObject*) -> PyObject* { // the types that it is made of; of an enum, that of its values
             return guarded_script([&] {
                 const TypeRef type = type_of_handle(self);
                 const std::vector<TypeRef> all =
                     type->is(TypeKind::Enum) ? std::vector<TypeRef>{type->definition->value_type} : type->parts;
                 Object made(checked(PyList_New(0)));
                 for (TypeRef each : all) {
                     Object part(checked(type_handle(each)));
                     if (PyList_Append(made.get(), part.get())) throw_python();
                 }
                 return made.take();
             });
         },
         METH_NOARGS, nullptr},
        {"is_subtype",
         [](PyObject* self, PyObject* of) -> PyObject* {
             if (!type_of_handle(of)) return PyErr_Format(PyExc_TypeError, "a type of scripts is wanted");
             return guarded_script([&] { return PyBool_FromLong(is_subtype(type_of_handle(self), type_of_handle(of))); });
         },
         METH_O, nullptr},
        {nullptr, nullptr, 0, nullptr}};
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(plain_dealloc)},
        {Py_tp_str, reinterpret_cast<void*>(+[](PyObject* self) { return text_object(annotation(type_of_handle(self))); })},
        {Py_tp_repr, reinterpret_cast<void*>(+[](PyObject* self) { return text_object(annotation(type_of_handle(self))); })},
        {Py_tp_hash, reinterpret_cast<void*>(
                         +[](PyObject* self) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(type_of_handle(self)) >> 4); })},
        {Py_tp_richcompare, reinterpret_cast<void*>(handle_compare)},
        {Py_tp_methods, methods},
        {0, nullptr}};
    static PyType_Spec spec = {"torch._C._ScriptType", sizeof(Handle), 0, Py_TPFLAGS_DEFAULT, slots};
    auto* self = make_object<Handle>(handle_type, spec);
    self->type = type;
    return reinterpret_cast<PyObject*>(self);
}

namespace {

/// _script_type("List", (element,)): a type by the name of its kind and its parts.
PyObject* make_type(PyObject*, PyObject* args) {
    const char* kind;
    PyObject* given = nullptr;
    if (!PyArg_ParseTuple(args, "s|O!:_script_type", &kind, &PyTuple_Type, &given)) return nullptr;
    return guarded_script([&] {
        std::vector<TypeRef> parts;
        for (Py_ssize_t i = 0; given && i < PyTuple_GET_SIZE(given); i++) {
            parts.push_back(type_of_handle(PyTuple_GET_ITEM(given, i)));
            KINDLING_CHECK(Type, parts.back(), "parts of a script's type are types");
        }
        const std::string name = kind;
        if (name == "List") return type_handle(ks::list_of(parts.at(0)));
        if (name == "Dict") return type_handle(ks::dict_of(parts.at(0), parts.at(1)));
        if (name == "Tuple") return type_handle(ks::tuple_of(parts));
        if (name == "Optional") return type_handle(ks::optional_of(parts.at(0)));
        if (name == "Future") return type_handle(ks::future_of(parts.at(0)));
        if (name == "Union") return type_handle(ks::union_of(parts));
        static constexpr struct {
            char name[10];
            TypeKind kind;
        } plain[] = {{"Tensor", TypeKind::Tensor},       {"int", TypeKind::Int},         {"float", TypeKind::Float},
                     {"bool", TypeKind::Bool},           {"complex", TypeKind::Complex}, {"str", TypeKind::Str},
                     {"None", TypeKind::None},           {"Device", TypeKind::Device},   {"Any", TypeKind::Any},
                     {"Generator", TypeKind::Generator}, {"Stream", TypeKind::Stream},   {"number", TypeKind::Number},
                     {"Storage", TypeKind::Storage},     {"list", TypeKind::AnyList},    {"tuple", TypeKind::AnyTuple}};
        for (const auto& each : plain)
            if (name == each.name) return type_handle(ks::type_of(each.kind));
        fail(ErrorKind::Value, "scripts know no type %s", kind);
    });
}

/// _script_infer(value): the type that a value has by itself; None if scripts know no such type.
PyObject* infer(PyObject*, PyObject* value) {
    return guarded_script([&]() -> PyObject* {
        const TypeRef type = inferred_type(value);
        if (!type) Py_RETURN_NONE;
        return type_handle(type);
    });
}

// ---- classes

struct ClassObject {
    PyObject_HEAD PyClass* definition;
};
PyClass& class_in(PyObject* self) { return *reinterpret_cast<ClassObject*>(self)->definition; }

std::vector<std::string> texts(PyObject* list) {
    std::vector<std::string> all;
    Object fast(checked(PySequence_Fast(list, "a list of names is wanted")));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++)
        all.emplace_back(checked_text(PySequence_Fast_GET_ITEM(fast.get(), i)));
    return all;
}

#define METHOD(name, ...)                                                                                                                  \
    [](PyObject* self, PyObject* args) -> PyObject* {                                                                                      \
        (void)self, (void)args;                                                                                                            \
        return guarded_script([&]()->PyObject * __VA_ARGS__);                                                                              \
    }

/// define(name or None, text, file, first line, begin, python, surroundings, defaults, one): the methods in a text, to be compiled when
/// they are asked for.
PyObject* define(PyObject* self, PyObject* args) {
    PyObject *name, *surroundings, *defaults, *head = Py_None;
    const char *text, *file;
    Py_ssize_t size, line, begin;
    int python;
    if (!PyArg_ParseTuple(args, "Os#snnpOO|O:define", &name, &text, &size, &file, &line, &begin, &python, &surroundings, &defaults, &head))
        return nullptr;
    return guarded_script([&]() -> PyObject* {
        PyClass& of = class_in(self);
        const auto unit = unit_of(surroundings, defaults);
        unit->sources.push_back(
            {std::string(text, static_cast<size_t>(size)), file, static_cast<size_t>(line), static_cast<size_t>(begin)});
        ks::Parser parser(unit->sources.back(), unit->trees, python);
        Object names(checked(PyList_New(0)));
        while (!parser.at_end()) {
            const ks::Tree* tree = parser.function(true);
            if (head != Py_None)
                tree = unit->trees.make(tree->kind, tree->range, {tree->parts[0], head_in(*unit, head, true), tree->parts[2]});
            const std::string given = name == Py_None ? tree->name() : checked_text(name);
            of.texts[given] = {unit, tree};
            Object object(checked(text_object(given)));
            if (PyList_Append(names.get(), object.get())) throw_python();
            if (python) break;
        }
        return names.take();
    });
}

PyObject* new_object(PyObject* self, PyObject*) {
    return guarded_script([&] {
        PyClass& of = class_in(self);
        return object_of_item(Item::instance(class_type(of), of.attributes.size()));
    });
}

PyMethodDef class_methods[] = {
    {"define", define, METH_VARARGS, nullptr},
    {"new", new_object, METH_NOARGS, nullptr},
    {"type", METHOD(type, { return type_handle(class_type(class_in(self))); }), METH_NOARGS, nullptr},
    {"name", METHOD(name, { return text_object(class_in(self).name); }), METH_NOARGS, nullptr},
    {"add_attribute",
     METHOD(add_attribute,
            {
                const char *name, *kind;
                PyObject* type;
                if (!PyArg_ParseTuple(args, "sOs:add_attribute", &name, &type, &kind)) throw_python();
                KINDLING_CHECK(Type, type_of_handle(type), "an attribute's type is wanted");
                class_in(self).attributes.push_back(
                    {name, type_of_handle(type), !std::strcmp(kind, "parameter"), !std::strcmp(kind, "buffer")});
                Py_RETURN_NONE;
            }),
     METH_VARARGS, nullptr},
    {"attributes",
     METHOD(attributes,
            {
                Object all(checked(PyList_New(0)));
                for (const auto& each : class_in(self).attributes) {
                    const char* kind = each.parameter ? "parameter" : each.buffer ? "buffer" : is_module(each.type) ? "module" : "";
                    Object type(checked(type_handle(each.type)));
                    Object row(checked(Py_BuildValue("(sOs)", each.name.c_str(), type.get(), kind)));
                    if (PyList_Append(all.get(), row.get())) throw_python();
                }
                return all.take();
            }),
     METH_NOARGS, nullptr},
    {"add_constant",
     METHOD(add_constant,
            {
                const char* name;
                PyObject* value;
                if (!PyArg_ParseTuple(args, "sO:add_constant", &name, &value)) throw_python();
                const TypeRef type = inferred_type(value);
                Item item;
                KINDLING_CHECK(Type, type && to_item(value, type, item), "'%s' is no constant of scripts", name);
                class_in(self).constants[name] = item;
                Py_RETURN_NONE;
            }),
     METH_VARARGS, nullptr},
    {"add_property",
     METHOD(add_property,
            {
                const char *name, *getter, *setter;
                if (!PyArg_ParseTuple(args, "sss:add_property", &name, &getter, &setter)) throw_python();
                class_in(self).properties[name] = {getter, setter};
                Py_RETURN_NONE;
            }),
     METH_VARARGS, nullptr},
    {"add_overloads",
     METHOD(add_overloads,
            {
                const char* name;
                PyObject* names;
                if (!PyArg_ParseTuple(args, "sO:add_overloads", &name, &names)) throw_python();
                class_in(self).overloads[name] = texts(names);
                Py_RETURN_NONE;
            }),
     METH_VARARGS, nullptr},
    {"add_member",
     METHOD(add_member,
            {
                const char* name;
                PyObject *value, *type;
                if (!PyArg_ParseTuple(args, "sOO:add_member", &name, &value, &type)) throw_python();
                PyClass& of = class_in(self);
                of.value_type = type_of_handle(type);
                Item member = Item::instance(class_type(of), 2);
                member.instance().slots[0] = Item(std::string(name));
                KINDLING_CHECK(Type, of.value_type && to_item(value, of.value_type, member.instance().slots[1]),
                               "an enum's values are of one type");
                of.members.emplace_back(name, member);
                Py_RETURN_NONE;
            }),
     METH_VARARGS, nullptr},
    {"add_default",
     METHOD(add_default,
            {
                PyClass& of = class_in(self);
                Object list(checked(PySequence_Fast(args, "")));
                const size_t count = static_cast<size_t>(PySequence_Fast_GET_SIZE(list.get()));
                for (size_t i = 0; i < count; i++) {
                    Item item;
                    const TypeRef type = of.attributes.at(of.attributes.size() - count + i).type;
                    KINDLING_CHECK(Type, to_item(PySequence_Fast_GET_ITEM(list.get(), static_cast<Py_ssize_t>(i)), type, item),
                                   "a field's default is no %s", repr(type).c_str());
                    of.defaults.push_back(item);
                }
                Py_RETURN_NONE;
            }),
     METH_VARARGS, nullptr},
    {"add_hook",
     METHOD(add_hook,
            {
                PyObject* function;
                int before;
                if (!PyArg_ParseTuple(args, "Op:add_hook", &function, &before)) throw_python();
                ks::Function* hook = function_of(function);
                KINDLING_CHECK(Type, hook, "a hook is a compiled function");
                Py_INCREF(function); // for good, as the class
                (before ? class_in(self).pre_hooks : class_in(self).hooks).push_back(hook);
                Py_RETURN_NONE;
            }),
     METH_VARARGS, nullptr},
    {"hook",
     METHOD(hook,
            { // hook(name): a method of the class that is no method of its objects
                ks::Function* function = class_in(self).compile_as(checked_text(args), false);
                if (!function) Py_RETURN_NONE;
                if (!class_in(self).methods.count(checked_text(args))) class_in(self).texts.erase(checked_text(args));
                return script_function(nullptr, function);
            }),
     METH_O, nullptr},
    {"hooks",
     METHOD(hooks,
            {
                Object all(checked(PyList_New(0)));
                for (ks::Function* each : PyObject_IsTrue(args) ? class_in(self).pre_hooks : class_in(self).hooks) {
                    Object function(checked(script_function(nullptr, each)));
                    if (PyList_Append(all.get(), function.get())) throw_python();
                }
                return all.take();
            }),
     METH_O, nullptr},
    {"holds",
     METHOD(holds,
            {
                static constexpr char names[][17] = {"", "list", "dict", "parameters", "named_parameters"};
                return text_object(names[class_in(self).holds]);
            }),
     METH_NOARGS, nullptr},
    {"properties",
     METHOD(properties,
            {
                Object all(checked(PyDict_New()));
                for (const auto& [name, property] : class_in(self).properties) {
                    Object pair(checked(Py_BuildValue("(ss)", property.getter.c_str(), property.setter.c_str())));
                    if (PyDict_SetItemString(all.get(), name.c_str(), pair.get())) throw_python();
                }
                return all.take();
            }),
     METH_NOARGS, nullptr},
    {"promise",
     METHOD(promise,
            { // promise(name): of an interface: the signature of a method whose text was defined
                PyClass& of = class_in(self);
                ks::Function* function = of.compile_as(checked_text(args), true);
                KINDLING_CHECK(Runtime, function, "an interface's method has no text");
                of.promised.push_back(function->signature);
                of.methods.erase(checked_text(args));
                Py_RETURN_NONE;
            }),
     METH_O, nullptr},
    {"set_holds",
     METHOD(set_holds,
            {
                const char* what = checked_text(args);
                static constexpr char names[][17] = {"", "list", "dict", "parameters", "named_parameters"};
                for (int i = 0; i < 5; i++)
                    if (!std::strcmp(what, names[i])) class_in(self).holds = static_cast<PyClass::Holds>(i);
                Py_RETURN_NONE;
            }),
     METH_O, nullptr},
    {"method",
     METHOD(method,
            {
                ks::Function* function = class_in(self).method(checked_text(args));
                if (!function) Py_RETURN_NONE;
                return script_function(nullptr, function);
            }),
     METH_O, nullptr},
    {"has_text",
     METHOD(
         has_text,
         { return PyBool_FromLong(class_in(self).texts.count(checked_text(args)) || class_in(self).methods.count(checked_text(args))); }),
     METH_O, nullptr},
    {"methods",
     METHOD(methods,
            {
                Object all(checked(PyList_New(0)));
                for (const std::string& each : class_in(self).compiled) {
                    Object name(checked(text_object(each)));
                    if (PyList_Append(all.get(), name.get())) throw_python();
                }
                return all.take();
            }),
     METH_NOARGS, nullptr},
    {"python_class", METHOD(python_class, { return Py_NewRef(class_in(self).python_class); }), METH_NOARGS, nullptr},
    {"constants",
     METHOD(constants,
            {
                Object all(checked(PyDict_New()));
                for (const auto& [name, value] : class_in(self).constants) {
                    Object object(checked(from_item(value)));
                    if (PyDict_SetItemString(all.get(), name.c_str(), object.get())) throw_python();
                }
                return all.take();
            }),
     METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyObject* class_object(PyClass* definition) {
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(plain_dealloc)}, {Py_tp_methods, class_methods}, {0, nullptr}};
    static PyType_Spec spec = {"torch._C._ScriptClass", sizeof(ClassObject), 0, Py_TPFLAGS_DEFAULT, slots};
    auto* self = make_object<ClassObject>(class_object_type, spec);
    self->definition = definition;
    return reinterpret_cast<PyObject*>(self);
}

/// _script_class(name, kind, python class, asked): a class. `asked(name, "method" | "outside" | "why")` tells what it lacks here.
PyObject* make_class(PyObject*, PyObject* args) {
    const char *name, *kind;
    PyObject *python_class, *asked;
    if (!PyArg_ParseTuple(args, "ssOO:_script_class", &name, &kind, &python_class, &asked)) return nullptr;
    return guarded_script([&] {
        auto* made = new PyClass; // for good, as the types that name it
        made->name = name;
        static constexpr char names[][11] = {"plain", "module", "interface", "enum", "namedtuple"};
        for (int i = 0; i < 5; i++)
            if (!std::strcmp(kind, names[i])) made->kind = static_cast<PyClass::Kind>(i);
        made->python_class = Py_NewRef(python_class);
        made->asked = Py_NewRef(asked);
        return class_object(made);
    });
}

// ---- objects

struct ScriptObject {
    PyObject_HEAD Item item;
    PyObject* weak_references;
};
const Item& item_in(PyObject* self) { return reinterpret_cast<ScriptObject*>(self)->item; }
PyClass& definition_of(const Item& item) { return static_cast<PyClass&>(*item.type()->definition); }

void object_dealloc(PyObject* object) {
    if (reinterpret_cast<ScriptObject*>(object)->weak_references) PyObject_ClearWeakRefs(object);
    reinterpret_cast<ScriptObject*>(object)->item.~Item();
    plain_dealloc(object);
}

size_t place_in(PyObject* self, const char* name) {
    const int place = definition_of(item_in(self)).place_of(name);
    if (place < 0) fail(ErrorKind::Attribute, "'%s' object has no attribute '%s'", str(item_in(self).type()).c_str(), name);
    return static_cast<size_t>(place);
}

/// A copy: attributes are shared, or copied in turn with what was copied already.
Item copied(const Item& item, bool deep, std::map<const void*, Item>& known, PyObject* memo) {
    if (!item.is(Item::Tag::Instance) || item.type()->is(TypeKind::Enum)) {
        if (!deep) return item;
        switch (item.tag()) {
        case Item::Tag::List:
        case Item::Tag::Tuple: {
            std::vector<Item> items;
            for (const Item& each : item.items()) items.push_back(copied(each, deep, known, memo));
            return item.is(Item::Tag::List) ? Item::list(item.type(), std::move(items)) : Item::tuple(item.type(), std::move(items));
        }
        case Item::Tag::Dict: {
            Item made = Item::dict(item.type());
            for (const auto& [key, value] : item.dict()) made.dict().set(copied(key, deep, known, memo), copied(value, deep, known, memo));
            return made;
        }
        case Item::Tag::Tensor: {
            Object object(checked(from_item(item))), deepcopy(checked(import("copy", "deepcopy")));
            Object made(checked(PyObject_CallFunctionObjArgs(deepcopy.get(), object.get(), memo, nullptr)));
            Item result;
            KINDLING_CHECK(Runtime, to_item(made.get(), ks::type_of(TypeKind::Tensor), result), "a tensor's copy is no tensor");
            return result;
        }
        default: return item;
        }
    }
    const auto found = known.find(item.object());
    if (found != known.end()) return found->second;
    Item made = Item::instance(item.type(), item.instance().slots.size());
    known[item.object()] = made;
    for (size_t i = 0; i < item.instance().slots.size(); i++) {
        const Item& slot = item.instance().slots[i];
        made.instance().slots[i] = deep ? copied(slot, deep, known, memo) : slot;
    }
    return made;
}

/// Modules of their own; what they hold is shared.
Item own_modules(const Item& item, std::map<const void*, Item>& known) {
    if (!item.is(Item::Tag::Instance) || !is_module(item.type())) return item;
    const auto found = known.find(item.object());
    if (found != known.end()) return found->second;
    Item made = Item::instance(item.type(), item.instance().slots.size());
    known[item.object()] = made;
    for (size_t i = 0; i < item.instance().slots.size(); i++) made.instance().slots[i] = own_modules(item.instance().slots[i], known);
    return made;
}

/// _script_freeze(object, preserved, name): an object of a class of that name whose methods hold as constants what the object held.
PyObject* freeze_object(PyObject*, PyObject* args) {
    PyObject *object, *list;
    const char* name;
    if (!PyArg_ParseTuple(args, "OOs:_script_freeze", &object, &list, &name)) return nullptr;
    return guarded_script([&] {
        const Item* given = item_of_object(object);
        if (!given) fail(ErrorKind::Type, "an object of scripts was expected, not %s", Py_TYPE(object)->tp_name);
        std::vector<std::string> preserved;
        Object fast(checked(PySequence_Fast(list, "names of attributes are a list")));
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); i++)
            preserved.push_back(checked_text(PySequence_Fast_GET_ITEM(fast.get(), i)));
        std::map<const void*, Item> known;
        const Item module = own_modules(*given, known);
        const ks::Frozen frozen = ks::freeze(module, preserved);
        const PyClass& old = definition_of(module);
        auto* made = new PyClass; // for good, as the types that name it
        made->name = name;
        made->kind = PyClass::Module;
        made->python_class = Py_NewRef(Py_None);
        made->asked = Py_NewRef(Py_None);
        for (const std::string& each : frozen.kept) made->attributes.push_back(old.attributes[static_cast<size_t>(old.place_of(each))]);
        const Item result = Item::instance(class_type(*made), made->attributes.size());
        for (size_t i = 0; i < made->attributes.size(); i++)
            result.instance().slots[i] = module.instance().slots[static_cast<size_t>(old.place_of(made->attributes[i].name))];
        for (const auto& [method, graph] : frozen.methods) {
            graph->block->inputs()[0]->type = class_type(*made);
            ks::Signature signature = const_cast<PyClass&>(old).method(method)->signature;
            signature.formals[0].type = class_type(*made);
            add_method(*made, method, graph)->signature = std::move(signature);
            made->compiled.push_back(method);
        }
        return object_of_item(result);
    });
}

PyMethodDef object_methods[] = {
    {"getattr", METHOD(getattr, { return from_item(item_in(self).instance().slots[place_in(self, checked_text(args))]); }), METH_O,
     nullptr},
    {"setattr",
     METHOD(setattr,
            {
                const char* name;
                PyObject* value;
                if (!PyArg_ParseTuple(args, "sO:setattr", &name, &value)) throw_python();
                const size_t place = place_in(self, name);
                const TypeRef type = definition_of(item_in(self)).attributes[place].type;
                Item item;
                if (!to_item(value, type, item))
                    fail(ErrorKind::Runtime,
                         "Could not cast attribute '%s' to type %s: Unable to cast Python instance of type %s to C++ type", name,
                         repr(type).c_str(), Py_TYPE(value)->tp_name);
                item_in(self).instance().slots[place] = item;
                Py_RETURN_NONE;
            }),
     METH_VARARGS, nullptr},
    {"hasattr", METHOD(hasattr, { return PyBool_FromLong(definition_of(item_in(self)).place_of(checked_text(args)) >= 0); }), METH_O,
     nullptr},
    {"_has_method",
     METHOD(has_method,
            {
                PyClass& of = definition_of(item_in(self));
                return PyBool_FromLong(of.texts.count(checked_text(args)) || of.methods.count(checked_text(args)));
            }),
     METH_O, nullptr},
    {"_get_method",
     METHOD(get_method,
            {
                ks::Function* function = definition_of(item_in(self)).method(checked_text(args));
                if (!function) fail(ErrorKind::Attribute, "Method '%s' is not defined.", checked_text(args));
                return bound_method(self, function);
            }),
     METH_O, nullptr},
    {"_class", METHOD(get_class, { return class_object(&definition_of(item_in(self))); }), METH_NOARGS, nullptr},
    {"_type", METHOD(get_type, { return type_handle(item_in(self).type()); }), METH_NOARGS, nullptr},
    {"__copy__",
     METHOD(copy,
            {
                std::map<const void*, Item> known;
                return object_of_item(copied(item_in(self), false, known, Py_None));
            }),
     METH_NOARGS, nullptr},
    {"__deepcopy__",
     METHOD(deepcopy,
            {
                std::map<const void*, Item> known;
                return object_of_item(copied(item_in(self), true, known, args));
            }),
     METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyObject* object_compare(PyObject* a, PyObject* b, int how) {
    if ((how != Py_EQ && how != Py_NE) || Py_TYPE(a) != object_type || Py_TYPE(b) != object_type) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((item_in(a).object() == item_in(b).object()) == (how == Py_EQ));
}

// ---- bound methods

struct Method {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject* owner;
    ks::Function* function;
    PyObject* dict;
};
PyTypeObject* method_face = nullptr;

PyObject* call(PyObject* self, PyObject* const* arguments, size_t count, PyObject* names) {
    auto* method = reinterpret_cast<Method*>(self);
    const Item keep = item_in(method->owner);
    return call_script(*method->function, arguments, PyVectorcall_NARGS(count), names, &keep);
}
void method_dealloc(PyObject* object) {
    PyObject_GC_UnTrack(object);
    Py_CLEAR(reinterpret_cast<Method*>(object)->owner);
    Py_CLEAR(reinterpret_cast<Method*>(object)->dict);
    plain_dealloc(object);
}
int method_traverse(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(reinterpret_cast<Method*>(object)->owner);
    Py_VISIT(reinterpret_cast<Method*>(object)->dict);
    return 0;
}
int method_clear(PyObject* object) {
    Py_CLEAR(reinterpret_cast<Method*>(object)->dict);
    return 0;
}

bool make_method_type() {
    if (method_type) return true;
    static PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(Method, dict), READONLY, nullptr},
                                    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Method, vectorcall), READONLY, nullptr},
                                    {nullptr, 0, 0, 0, nullptr}};
    static PyGetSetDef getset[] = {
        {"_function",
         [](PyObject* self, void*) {
             return guarded_script([&] { return script_function(nullptr, reinterpret_cast<Method*>(self)->function); });
         },
         nullptr, nullptr, nullptr},
        {"owner", [](PyObject* self, void*) { return Py_NewRef(reinterpret_cast<Method*>(self)->owner); }, nullptr, nullptr, nullptr},
        {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
        {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(method_dealloc)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(method_traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(method_clear)},
                                  {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                  {Py_tp_members, members},
                                  {Py_tp_getset, getset},
                                  {0, nullptr}};
    static PyType_Spec spec = {"torch._C._ScriptMethod", sizeof(Method), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_BASETYPE, slots};
    method_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return method_type != nullptr;
}

/// _script_method_type(face): the class whose objects bound methods are from now on; None: the native base.
PyObject* set_face(PyObject*, PyObject* face) {
    if (!make_method_type()) return nullptr;
    if (face == Py_None) return Py_NewRef(reinterpret_cast<PyObject*>(method_type));
    method_face = reinterpret_cast<PyTypeObject*>(Py_NewRef(face));
    Py_RETURN_NONE;
}

} // namespace

PyObject* bound_method(PyObject* owner, ks::Function* function) {
    if (!make_method_type()) throw_python();
    if (!method_face) Object loaded(checked(PyImport_ImportModule("kindling.jit._script_function")));
    PyTypeObject* type = method_face ? method_face : method_type;
    auto* self = reinterpret_cast<Method*>(type->tp_alloc(type, 0));
    if (!self) throw_python();
    self->vectorcall = call;
    self->owner = Py_NewRef(owner);
    self->function = function;
    return reinterpret_cast<PyObject*>(self);
}

PyObject* object_of_item(const Item& item) {
    static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(ScriptObject, weak_references), READONLY, nullptr},
                                    {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(object_dealloc)},
                                  {Py_tp_methods, object_methods},
                                  {Py_tp_richcompare, reinterpret_cast<void*>(object_compare)},
                                  {Py_tp_hash, reinterpret_cast<void*>(+[](PyObject* self) {
                                       return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(item_in(self).object()) >> 4);
                                   })},
                                  {Py_tp_members, members},
                                  {0, nullptr}};
    static PyType_Spec spec = {"torch._C.ScriptObject", sizeof(ScriptObject), 0, Py_TPFLAGS_DEFAULT, slots};
    auto* self = make_object<ScriptObject>(object_type, spec);
    new (&self->item) Item(item);
    return reinterpret_cast<PyObject*>(self);
}
const Item* item_of_object(PyObject* object) { return object_type && Py_TYPE(object) == object_type ? &item_in(object) : nullptr; }

// ---- what a class is asked

static Object ask(const PyClass& of, const std::string& name, const char* what) {
    if (of.asked == Py_None) return Object::share(Py_None);
    Lock lock;
    return Object(checked(PyObject_CallFunction(of.asked, "ss", name.c_str(), what)));
}

ks::Function* PyClass::compile(const std::string& method) { return compile_as(method, true); }

ks::Function* PyClass::compile_as(const std::string& method, bool own) {
    if (kind == Interface && own && promised_done) return nullptr;
    auto found = texts.find(method);
    if (found == texts.end()) {
        if (!own || ask(*this, method, "method").get() != Py_True) return nullptr;
        found = texts.find(method);
        if (found == texts.end()) return nullptr;
    }
    if (kind == Plain && method != "__init__" && texts.count("__init__") && !methods.count("__init__") && !compiling.count("__init__"))
        compile_as("__init__", true);
    if (const auto made = methods.find(method); own && made != methods.end()) return made->second;
    if (compiling.count(method))
        fail(ErrorKind::Runtime, " method '%s' is called recursively. Recursive calls are not supported", method.c_str());
    compiling.insert(method);
    auto* function = new ks::Function; // for good, as the class
    function->name = name + "." + method;
    const bool was_open = open;
    if (method == "__init__" && kind == Plain) open = true;
    try {
        const auto text = found->second;
        lower(*text.tree, *text.unit, *function, this);
    } catch (...) {
        open = was_open;
        compiling.erase(method);
        delete function;
        throw;
    }
    open = was_open;
    compiling.erase(method);
    if (own) {
        methods[method] = function;
        compiled.push_back(method);
    }
    return function;
}

ks::Outside PyClass::outside(const std::string& name, const ks::Range&) {
    const Object answer = ask(*this, name, "outside");
    std::vector<PyObject*> kept; // for good, as the class
    return outside_of(answer.get(), kept);
}
std::string PyClass::why_not(const std::string& name) {
    const Object answer = ask(*this, name, "why");
    return answer.get() == Py_None ? "" : checked_text(answer.get());
}

// ---- objects of Python's classes

/// An object of a scripted class is copied attribute by attribute, in and out; of an enum, its member.
bool class_item(PyObject* object, TypeRef type, Item& item) {
    Object held;
    const Item* own = item_of_object(object);
    if (!own && PyObject_HasAttrString(object, "_c")) {
        held = Object(PyObject_GetAttrString(object, "_c"));
        if (!held) return PyErr_Clear(), false;
        own = item_of_object(held.get());
    }
    if (own) {
        if (!is_subtype(own->type(), type)) return false;
        item = *own;
        return true;
    }
    auto& of = static_cast<PyClass&>(*type->definition);
    if (of.kind == PyClass::Module || of.kind == PyClass::Interface) return false;
    const int is = PyObject_IsInstance(object, of.python_class);
    if (is <= 0) return PyErr_Clear(), false;
    if (of.kind == PyClass::Enum) {
        Object name(PyObject_GetAttrString(object, "name"));
        const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
        if (!text) return PyErr_Clear(), false;
        for (const auto& [member, value] : of.members)
            if (member == text) return item = value, true;
        return false;
    }
    Item made = Item::instance(type, of.attributes.size());
    for (size_t i = 0; i < of.attributes.size(); i++) {
        Object value(PyObject_GetAttrString(object, of.attributes[i].name.c_str()));
        if (!value) return PyErr_Clear(), false;
        if (!to_item(value.get(), of.attributes[i].type, made.instance().slots[i])) return false;
    }
    item = std::move(made);
    return true;
}

PyObject* class_object_of(const Item& item) {
    auto& of = definition_of(item);
    if (of.kind == PyClass::Enum) return PyObject_GetAttrString(of.python_class, item.instance().slots[0].text().c_str());
    if (of.kind == PyClass::Module || of.python_class == Py_None) {
        Object wrap_instance(checked(import("kindling.jit._script_module", "wrap_object"))), object(checked(object_of_item(item)));
        return PyObject_CallOneArg(wrap_instance.get(), object.get());
    }
    Object made(checked(PyObject_CallMethod(of.python_class, "__new__", "O", of.python_class)));
    for (size_t i = 0; i < of.attributes.size(); i++) {
        Object value(checked(from_item(item.instance().slots[i])));
        if (PyObject_SetAttrString(made.get(), of.attributes[i].name.c_str(), value.get())) throw_python();
    }
    return made.take();
}
PyObject* named_tuple_object(TypeRef type, PyObject* values) {
    auto* of = static_cast<PyClass*>(type->definition);
    return of && of->python_class != Py_None ? PyObject_CallObject(of->python_class, values) : nullptr;
}

bool init_script_class(PyObject* module) {
    static PyMethodDef functions[] = {
        {"_script_type", make_type, METH_VARARGS, nullptr},   {"_script_infer", infer, METH_O, nullptr},
        {"_script_class", make_class, METH_VARARGS, nullptr}, {"_script_freeze", freeze_object, METH_VARARGS, nullptr},
        {"_script_method_type", set_face, METH_O, nullptr},   {nullptr, nullptr, 0, nullptr},
    };
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
