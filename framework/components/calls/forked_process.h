// Detects a function of a plugin that calls fork() and returns in both processes. The new process has one thread and
// must not continue the work of the host. The opening of a plugin is such a function too.
#pragma once

#include <atomic>
#include <filesystem>

#include "framework/components/calls/component.h"

namespace tenon::components::detail {

// Whether fork() was called in a function of a plugin, in this process or in the one that it was forked from.
extern std::atomic<bool> has_forked;

// Throws Error(plugin) if a process that a function of a plugin had created with fork() has returned from the plugin.
// The first time that such a process neither returns nor calls exec() nor ends, this waits for it for a few seconds,
// then logs a warning. [any thread]
void check_forked_processes();

// Ends this process if a function of a plugin created it with fork(). Otherwise does check_forked_processes().
void check_forks(const Component& component, const char* function);

// Does the same after an initialiser or the entry function of a plugin's file has returned.
void check_forks_of_opening(const std::filesystem::path& file);

}  // namespace tenon::components::detail
