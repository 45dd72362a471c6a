// include/kindling/operators.h: operators of a program or plug-in of its own. core/registration.h has an example.
#pragma once
#include <kindling/kindling.h>

#include "core/registration.h"
