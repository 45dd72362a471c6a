// Weak stand-ins for bindings/autograd*.cpp, so that the rest links and runs without them. The real ones win.
#include "bindings/autograd.h"

namespace kindling::python {

[[gnu::weak]] extern const NativeMethodDef autograd_tensor_methods[] = {{nullptr, nullptr, nullptr}};
[[gnu::weak]] PyGetSetDef autograd_tensor_getset[] = {{nullptr, nullptr, nullptr, nullptr, nullptr}};
[[gnu::weak]] int traverse_autograd(TensorImpl*, visitproc, void*) { return 0; }
[[gnu::weak]] void clear_autograd(TensorImpl*) {}
[[gnu::weak]] bool init_autograd(PyObject*) { return true; }

}  // namespace kindling::python
