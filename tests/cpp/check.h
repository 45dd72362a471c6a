// tests/cpp/check.h: what a test program needs: CHECK counts and reports, `finish` gives the exit status.
#pragma once
#include <cstdio>

inline int failures = 0;

#define CHECK(CONDITION)                                                                                                                   \
    do {                                                                                                                                   \
        if (!(CONDITION)) {                                                                                                                \
            ++failures;                                                                                                                    \
            std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #CONDITION);                                                   \
        }                                                                                                                                  \
    } while (0)
#define CHECK_THROWS(STATEMENT, TEXT)                                                                                                      \
    do {                                                                                                                                   \
        bool thrown = false;                                                                                                               \
        try {                                                                                                                              \
            STATEMENT;                                                                                                                     \
        } catch (const kindling::Error& error) {                                                                                           \
            thrown = std::string(error.what()).find(TEXT) != std::string::npos;                                                            \
            if (!thrown) std::fprintf(stderr, "%s:%d: another text: %s\n", __FILE__, __LINE__, error.what());                              \
        }                                                                                                                                  \
        CHECK(thrown && #STATEMENT);                                                                                                       \
    } while (0)

inline int finish(const char* name) {
    std::fprintf(stderr, "%s: %s\n", name, failures ? "FAILED" : "ok");
    return failures ? 1 : 0;
}
