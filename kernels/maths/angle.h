// kernels/maths/angle.h: argument reduction of large angles (Payne and Hanek).
#pragma once
#include <cstdint>

namespace kindling {

/// Angles beyond this are reduced one at a time.
inline constexpr double largest_plain_angle = 1e6;
/// x - n pi/2 in [-pi/4, pi/4] as a sum of two doubles, and n mod 4, for any finite x.
struct ReducedAngle {
    double high, low;
    int64_t quadrant;
};
ReducedAngle reduce_large_angle(double x);

} // namespace kindling
