// runtime/blas.h: the BLAS and LAPACK library, found and opened when first needed.
//
// Looked for, in this order: where set_blas_path said, the environment variable KINDLING_BLAS, the scipy_openblas32
// package beside ours, the system's libopenblas and liblapack, and where the interpreter would import scipy_openblas32
// from. It runs on one thread of its own: we share the work.
#pragma once

#include <cstddef>

#include "core/export.h"

namespace KINDLING_VISIBLE kindling {

/// The library's file; null or empty means: look for it. No effect once the library is open.
void set_blas_path(const char* path);
/// Asked where no library was found, without locks of ours: writes the path of one, or an empty text. False if this thread
/// cannot ask.
extern bool (*find_blas)(char* path, size_t size);
/// Opens the library if it can be found.
bool blas_available();
/// The file in use, or null. Opens nothing.
const char* blas_path();
/// The Fortran routine of that name without its underscore ("dgesdd"), with 32-bit integers. Throws RuntimeError where
/// there is no library or it lacks the routine.
void* blas_routine(const char* name);

} // namespace kindling
