// bindings/tensor/tensor.h: pieces of the Tensor type shared by its files.
#pragma once
#include "bindings/function.h"

namespace kindling::python {

extern PyTypeObject* tensor_meta;              // kindling._C._TensorMeta
extern const NativeMethodDef tensor_methods[]; // tensor_methods.cpp
extern PyNumberMethods tensor_numbers;         // tensor_numbers.cpp (read slot by slot)
PyObject* tensor_compare(PyObject* a, PyObject* b, int op);
PyObject* from_numpy(PyObject* module, PyObject* array);
/// Python methods that live in kindling/_tensor.py, loaded at the first call of one.
extern const char* const lazy_methods[];

/// The key bits a class brings to its tensors (Function, Dispatch).
uint32_t class_key(PyTypeObject* type);
/// Another header for the same memory, outside autograd; it shares the version counter.
Tensor shallow_copy(const Tensor& tensor);
/// The same, asked of a subclass that has its own idea of memory.
Tensor detached(const Tensor& tensor);
/// torch.Tensor(...), FloatTensor(...), x.new(...).
Tensor legacy_construct(const char* name, DType dtype, PyObject* args, PyObject* kwargs);
Tensor index_tensor(PyObject* self, PyObject* key);
PyObject* tensor_subscript(PyObject* self, PyObject* key);
int tensor_assign_subscript(PyObject* self, PyObject* key, PyObject* value);
Py_ssize_t tensor_length(PyObject* self);
/// While a program is traced: TracerWarnings (a value leaves the graph, or a text of one's own), and sizes as tensors of one number.
void warn_leaves(const char* what);
void warn_constructor(const char* what);
void warn_traced_as(const char* text);
/// Whether sizes are values of what is being written down: tensors of a trace (script/trace/trace.h), or symbols (core/size.h).
inline bool sizes_are_traced() { return is_traced() || thread_state.sizes; }
PyObject* traced_size(TensorImpl* impl, int64_t dim);
PyObject* traced_numel(TensorImpl* impl);
PyObject* traced_shape(TensorImpl* impl);
Tensor traced_data(PyObject* data, DType dtype, Device device, bool copy);
void note_traced_place(PyObject* object, int place); // argument `place` of the call to come is that of a tensor
/// torch.tensor(data, dtype=..., device=...). Throws.
Tensor tensor_of_data(PyObject* data, DType dtype, bool infer_dtype, bool copy = true);
PyObject* tensor_to_list(PyObject* self);
PyObject* numpy_of_tensor(const Tensor& tensor);
int tensor_get_buffer(PyObject* self, Py_buffer* view, int flags);
void tensor_release_buffer(PyObject* self, Py_buffer* view);
Tensor to_options(const Tensor& self, DType dtype, bool has_device, Device device, bool copy, MemoryFormat format,
                  bool non_blocking = false);

/// thread_state.skip_torch_function: 1 leaves subclasses out, 2 modes too.
struct SkipTorchFunction {
    explicit SkipTorchFunction(int level) : before(thread_state.skip_torch_function) {
        if (level > before) thread_state.skip_torch_function = level;
    }
    ~SkipTorchFunction() { thread_state.skip_torch_function = before; }
    int before;
};

/// Whether memory that a tensor was made over can be reached but through tensors (graph/pending.h).
bool array_held_outside(const Storage& storage);

} // namespace kindling::python
