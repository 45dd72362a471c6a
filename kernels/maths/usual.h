// kernels/maths/usual.h: float32 functions with a short path for vectors of usual numbers. tile_maths_isa.cpp has their
// branch, and that of Pow, which is written by hand there.
#pragma once

#define KINDLING_FOR_EACH_MENDED(X) X(Sin, sinf) X(Cos, cosf) X(Log1p, log1pf)
#define KINDLING_FOR_EACH_LOG(X) X(Log, logf, E) X(Log2, log2f, Two) X(Log10, log10f, Ten)
