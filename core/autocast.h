// core/autocast.h: operators that choose their arguments' dtype while autocast is on, as torch's do on the CPU.
#pragma once
#include "core/dispatch.h"

namespace KINDLING_VISIBLE kindling {

/// Calls `op` on arguments cast as its declaration says: to the thread's autocast dtype, to float32, or to the widest of them.
/// Its parts, if it is a composition that says nothing, see autocast too.
void call_autocast(const Operator& op, Value* arguments, Value* results);

/// Switches autocast on the CPU on or off in this thread.
void set_autocast(bool on, DType dtype, bool cache);
bool autocast_on();

/// Casts of leaves that require grad are kept, so that a weight used often is cast, and its gradient cast back, once.
void clear_autocast_cache();

} // namespace kindling
