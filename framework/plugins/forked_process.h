// Detects a function of a plugin that calls fork() and returns in both processes. The new process has one thread and
// must not continue the work of the host.
#pragma once

#include <atomic>

#include "framework/plugins/component.h"

namespace tenon::plugins::detail {

// Whether fork() was called in a function of a plugin, in this process or in the one that it was forked from.
extern std::atomic<bool> has_forked;

// Ends this process if a function of a plugin created it with fork(). Otherwise throws Error(plugin) if such a process
// has ended here.
void check_forks(const Component& component, const char* function);

}  // namespace tenon::plugins::detail
