// kernels/usual.h: functions of float32 that take a shorter way where a vector has usual numbers only. Written with their
// branch in tile_maths_isa.cpp, Pow by hand there.
#pragma once

#define KINDLING_FOR_EACH_MENDED(X) X(Sin, sinf) X(Cos, cosf) X(Log1p, log1pf)
#define KINDLING_FOR_EACH_LOG(X) X(Log, logf, E) X(Log2, log2f, Two) X(Log10, log10f, Ten)
