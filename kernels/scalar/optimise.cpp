// kernels/scalar/optimise.cpp: the order of the passes.
#include "kernels/scalar/passes.h"

namespace kindling::scalar {

void optimise_first(Function& function) {
    merge_values(function);
    decide_checks(function);
    tidy(function);
    merge_values(function);
    hoist(function, true);
}

void optimise_last(Function& function) {
    if (peel(function)) {
        tidy(function);
        merge_values(function);
        tidy(function);
        hoist(function, true);
    }
    // Loads stay where they are from here on, so the index is as good as the checked index.
    use_checked(function);
    reduce_addresses(function);
    merge_values(function);
    tidy(function);
    hoist(function, false);
    tidy(function);
}

} // namespace kindling::scalar
