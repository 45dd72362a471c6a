// bindings/devices.cpp: plug-in devices: their memory and copies are methods of Python objects.
// Compiled for size.
#include "bindings/function.h"
#include "bindings/types.h"

namespace kindling::python {

static bool alive() { return Py_IsInitialized(); }

static PyObject* hooks_of(void* context) { return static_cast<PyObject*>(context); }

static void* allocate(void* context, size_t bytes, Device device) {
    Lock lock;
    Object address(checked(
        PyObject_CallMethod(hooks_of(context), "allocate", "ni", static_cast<Py_ssize_t>(bytes), device.index < 0 ? 0 : device.index)));
    void* data = PyLong_AsVoidPtr(address.get());
    if (!data && PyErr_Occurred()) throw_python();
    if (!data) fail(ErrorKind::OutOfMemory, "%s out of memory: %zu bytes were asked for", name(device.type), bytes);
    return data;
}
static void free_memory(void* context, void* data, size_t bytes) {
    if (!alive()) return; // the process ends, and the device's memory with it
    Lock lock;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* done = PyObject_CallMethod(hooks_of(context), "free", "Nn", PyLong_FromVoidPtr(data), static_cast<Py_ssize_t>(bytes));
    if (!done) PyErr_WriteUnraisable(hooks_of(context));
    Py_XDECREF(done);
    PyErr_Restore(type, value, trace);
}
static void copy(void* context, void* to, Device to_device, const void* from, Device from_device, size_t bytes) {
    Lock lock;
    auto number = [](Device d) { return is_private(d.type) ? (d.index < 0 ? 0 : d.index) : -1; }; // -1: the host
    Object done(
        checked(PyObject_CallMethod(hooks_of(context), "copy", "NiNin", PyLong_FromVoidPtr(to), number(to_device),
                                    PyLong_FromVoidPtr(const_cast<void*>(from)), number(from_device), static_cast<Py_ssize_t>(bytes))));
}
static int current(void* context) {
    Lock lock;
    Object device(checked(PyObject_CallMethod(hooks_of(context), "current_device", nullptr)));
    long index = PyLong_AsLong(device.get());
    if (index == -1 && PyErr_Occurred()) throw_python();
    return static_cast<int>(index);
}

/// _C._name_private_device(name): gives a private device its name; returns its number, -1 if all are taken.
static PyObject* name_private_device(PyObject*, PyObject* wanted) {
    const char* text = PyUnicode_AsUTF8(wanted);
    if (!text) return nullptr;
    if (strlen(text) >= sizeof(PrivateDevice::name))
        return PyErr_Format(PyExc_ValueError, "a device's name has at most 31 letters: %s", text);
    for (int i = 0; i < private_count; i++) {
        PrivateDevice& device = private_devices[i];
        if (device.name[0] && strcmp(device.name, text)) continue;
        strcpy(device.name, text);
        return PyLong_FromLong(i);
    }
    return PyLong_FromLong(-1);
}
/// _C._set_private_hooks(number, object): with allocate(bytes, device) -> address, free(address, bytes), copy(to, device, from, device,
/// bytes) (device -1: the host) and, where it has several, current_device() -> number. None takes them away.
static PyObject* set_private_hooks(PyObject*, PyObject* args) {
    int number;
    PyObject* hooks;
    if (!PyArg_ParseTuple(args, "iO", &number, &hooks)) return nullptr;
    if (number < 0 || number >= private_count) return PyErr_Format(PyExc_IndexError, "there are %d private devices", private_count);
    for (const char* needed : {"allocate", "free", "copy"}) {
        PyObject* method = PyObject_GetAttrString(hooks, needed);
        bool good = method && PyCallable_Check(method);
        Py_XDECREF(method);
        PyErr_Clear();
        if (!good) return PyErr_Format(PyExc_TypeError, "the hooks of a device need a method %s", needed);
    }
    PrivateDevice& device = private_devices[number];
    device.context = Py_NewRef(hooks); // for good: its memory may outlive the plug-in
    device.allocate = allocate;
    device.free = free_memory;
    device.copy = copy;
    device.current = PyObject_HasAttrString(hooks, "current_device") ? current : nullptr;
    Py_RETURN_NONE;
}
/// _C._private_devices(): [(name, has hooks, runs on the host)] of the named ones.
static PyObject* list_private_devices(PyObject*, PyObject*) {
    PyObject* list = PyList_New(0);
    for (int i = 0; list && i < private_count && private_devices[i].name[0]; i++) {
        PyObject* item = Py_BuildValue("(sOO)", private_devices[i].name, private_devices[i].allocate ? Py_True : Py_False,
                                       private_devices[i].on_host ? Py_True : Py_False);
        if (item) PyList_Append(list, item);
        Py_XDECREF(item);
    }
    return list;
}
/// _C._run_private_on_host(number, on): whether operators without a kernel there run on the host.
static PyObject* run_on_host(PyObject*, PyObject* args) {
    int number, on;
    if (!PyArg_ParseTuple(args, "ip", &number, &on)) return nullptr;
    if (number < 0 || number >= private_count) return PyErr_Format(PyExc_IndexError, "there are %d private devices", private_count);
    private_devices[number].on_host = on;
    Py_RETURN_NONE;
}
Device accelerator() {
    for (int i = 0; i < private_count; i++)
        if (private_devices[i].allocate) return {static_cast<DeviceType>(static_cast<int>(DeviceType::Private) + i), -1};
    return Device();
}
/// _C._get_accelerator().
static PyObject* get_accelerator(PyObject*, PyObject*) { return device_object(accelerator()); }

bool init_devices(PyObject* module) {
    static PyMethodDef functions[] = {
        {"_name_private_device", name_private_device, METH_O, nullptr},   {"_set_private_hooks", set_private_hooks, METH_VARARGS, nullptr},
        {"_private_devices", list_private_devices, METH_NOARGS, nullptr}, {"_run_private_on_host", run_on_host, METH_VARARGS, nullptr},
        {"_get_accelerator", get_accelerator, METH_NOARGS, nullptr},      {nullptr, nullptr, 0, nullptr}};
    return PyModule_AddFunctions(module, functions) == 0;
}

} // namespace kindling::python
