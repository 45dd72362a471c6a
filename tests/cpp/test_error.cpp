// Checks in C++: the kind named, the text made only when the condition is false.
#include <string>

#include "check.h"
#include "core/error.h"

using namespace kindling;

static int made = 0;
static const char* text() {
    made++;
    return "text";
}

template <class F> static bool raises(F f, ErrorKind kind, const char* words) {
    try {
        f();
    } catch (const Error& error) { return error.kind() == kind && std::string(error.what()) == words; }
    return false;
}

int main() {
    KINDLING_CHECK(Runtime, true, "%s", text());
    CHECK(made == 0);
    CHECK(raises([] { KINDLING_CHECK(Runtime, false, "%s", text()); }, ErrorKind::Runtime, "text"));
    CHECK(raises([] { KINDLING_CHECK(Index, 2 < 1, "%d is out of range", 2); }, ErrorKind::Index, "2 is out of range"));
    CHECK(raises([] { KINDLING_CHECK(Value, false, "v"); }, ErrorKind::Value, "v"));
    CHECK(raises([] { KINDLING_CHECK(Type, false, "t"); }, ErrorKind::Type, "t"));
    CHECK(raises([] { KINDLING_CHECK(NotImplemented, false, "n"); }, ErrorKind::NotImplemented, "n"));
    CHECK_THROWS(KINDLING_ASSERT(1 == 2), "1 == 2");
    CHECK(made == 1);
    return finish("error");
}
