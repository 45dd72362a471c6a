// core/export.h: what is visible outside the library.
#pragma once
#define KINDLING_API __attribute__((visibility("default")))
/// On a namespace block of a header whose functions the Python binding or an extension calls.
#define KINDLING_VISIBLE [[gnu::visibility("default")]]
