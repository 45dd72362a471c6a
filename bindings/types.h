// bindings/types.h: the parts of `kindling._C` that module.cpp puts together. Each returns false with an error set.
#pragma once
#include "bindings/python.h"

namespace kindling::python {

bool init_errors(PyObject* module);
bool init_types(PyObject* module);
bool init_functions(PyObject* module);
bool init_tensor(PyObject* module);
bool init_storage(PyObject* module);
bool init_construct(PyObject* module);
bool init_torch_function(PyObject* module);
bool init_dispatch(PyObject* module);
bool init_sizes(PyObject* module);
bool init_library(PyObject* module);
bool init_batch(PyObject* module);
bool init_module_state(PyObject* module);
bool init_source(PyObject* module);
bool init_devices(PyObject* module);
bool init_profile(PyObject* module);
bool init_compiled(PyObject* module);
bool init_script(PyObject* module);
bool init_trace(PyObject* module);

/// Asks _compile_breaks.`what`(object) where a call that has to stay in one graph is open. False: it refused, with an error set.
bool refuse_break(const char* what, PyObject* object);

/// torch.Size with the items of a tuple, which it takes over.
PyObject* size_of_tuple(PyObject* tuple);
bool layout_of_object(PyObject* object, Layout& layout);
bool memory_format_of_object(PyObject* object, MemoryFormat& format);

} // namespace kindling::python
