// core/opaque.h: what a kernel that is no loop says while it runs in a call that puts loops off. For core/dispatch.cpp and graph/.
#pragma once

namespace kindling {

/// This thread runs such a kernel: all that it writes of its arguments was settled before. What it reaches else it reads, so loops
/// that were put off and read the same stay so.
extern constinit thread_local bool in_opaque_kernel __attribute__((tls_model("initial-exec")));

} // namespace kindling
