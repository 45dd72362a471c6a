// kernels/library/special.h: special functions of one and two real numbers, in double precision, without libm.
#pragma once

namespace kindling::library::special {

// Bessel functions. The scaled ones are multiplied by exp(x).
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
double bessel_k0(double x);
double bessel_k1(double x);
double scaled_bessel_k0(double x);
double scaled_bessel_k1(double x);
double spherical_bessel_j0(double x);
double airy_ai(double x);

// Orthogonal polynomials; n is cut to a whole number, and a negative one gives 0.
double chebyshev_t(double x, double n);
double chebyshev_u(double x, double n);
double chebyshev_v(double x, double n);
double chebyshev_w(double x, double n);
double hermite_h(double x, double n);
double hermite_he(double x, double n);
double laguerre_l(double x, double n);
double legendre_p(double x, double n);
double shifted_chebyshev_t(double x, double n);
double shifted_chebyshev_u(double x, double n);
double shifted_chebyshev_v(double x, double n);
double shifted_chebyshev_w(double x, double n);

// The incomplete gamma functions, regularised: from 0 to x, and from x on.
double gamma_lower(double a, double x);
double gamma_upper(double a, double x);

} // namespace kindling::library::special
