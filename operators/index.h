// operators/index.h: the shape of the index the build writes from the declarations' text. No pointers but the families'.
#pragma once
#include <cstdint>

namespace kindling {

class Declarations;

namespace generated {

struct FamilyEntry {
    void (*declare)(Declarations&);
    uint16_t first, count;
};
struct NameEntry {
    uint32_t name;
    uint16_t first, count;
    uint16_t spaces;
}; // overloads[first .. first+count)
/// Operator numbers come in threes: functional, in-place, out. These bits say which forms exist.
enum : uint8_t { HasInplace = 1, HasOut = 2, LongOut = 4 };

extern const FamilyEntry families[];
extern const int family_count;
extern const NameEntry names[]; // sorted by name
extern const int name_count;
extern const char name_pool[];
extern const uint16_t overloads[];
extern const uint8_t forms[];     // by declaration
extern const uint8_t family_of[]; // by declaration
extern const int declaration_count;

} // namespace generated
} // namespace kindling
