// Restores what a function of a plugin changed in the process or the thread of a run, such as the locale by
// setlocale(), and warns once for each plugin and setting. `host validate` restores nothing and reports each function.
#pragma once

#include <atomic>
#include <clocale>
#include <cstdint>
#include <string>

#include "framework/components/calls/component.h"
#include "framework/support/process/arithmetic_modes.h"

namespace tenon::components {

// Records the settings of this process that plugins must keep: the locale, the umask, the working directory, and the
// actions of the signals that stop or save a run. Call it after changing one, while no function of a plugin runs.
// Handlers of crashes are left alone, since a library may need them.
void record_host_settings();

// Compares and restores them, which takes 30 us, and the arithmetic modes of this thread. `what` names the call:
// "create of dataset digits". `plugin`: its id or file; empty: not known. `arithmetic`: the modes before the call,
// unless they are compared by detail::QuickSettings. [any thread]
void restore_host_settings(const std::string& plugin, const std::string& what,
                           uint64_t arithmetic = support::read_arithmetic_modes());
void restore_host_settings(const Component& component, const char* function);

namespace detail {

// Whether changes are restored; false in `host validate`, where each function is blamed for itself.
extern std::atomic<bool> restores_settings;

// The settings of a thread that are compared after each call into a plugin, since that takes a few nanoseconds.
struct QuickSettings {
  uint64_t arithmetic;
  const char* c_locale;  // glibc returns another pointer after each change

  static QuickSettings read() { return {support::read_arithmetic_modes(), std::setlocale(LC_ALL, nullptr)}; }
  bool operator==(const QuickSettings&) const = default;
};

// Restores the arithmetic modes of this thread, and the locale of the process.
void restore_quick_settings(const Component& component, const char* function, const QuickSettings& before);

}  // namespace detail

}  // namespace tenon::components
