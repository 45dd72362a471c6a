// kernels/scalar/constants.h: the constants of a function, each once.
#pragma once
#include "kernels/scalar/function.h"

namespace kindling::scalar {

class Constants {
public:
    explicit Constants(Function& function);
    uint32_t get(Type type, uint64_t bits);
    uint32_t integer(int64_t value) { return get(Type::I64, static_cast<uint64_t>(value)); }

private:
    Function& function_;
    std::vector<uint32_t> heads_, next_; // a hash table of nodes
    void add(uint32_t id);
};

} // namespace kindling::scalar
