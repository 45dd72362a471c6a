// runtime/detached.h: a thread that nobody waits for, with the stack that ours have and no signals.
#pragma once

namespace kindling {

/// Runs body(context) on a thread of its own; body must not throw. False if no thread could be started.
bool start_detached(void (*body)(void* context), void* context);

} // namespace kindling
