// Restores what a function of a plugin changed in the process or the thread of a run, such as the locale by
// setlocale(), and warns once for each plugin and setting. `host validate` restores nothing and reports each function.
#pragma once

#include <array>
#include <atomic>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <locale>
#include <string>

#include <sys/stat.h>

#include "framework/components/calls/component.h"
#include "framework/support/process/arithmetic_modes.h"

namespace tenon::components {

// The settings at construction: the locale, the umask, the working directory, the arithmetic modes of this thread, and
// the actions of the signals that stop or save a run. Handlers of crashes are left alone, since a library may need
// them.
class KeptSettings {
 public:
  KeptSettings();

  // Compares all of them, which takes 30 us. `what` names the call: "create of dataset.digits". `plugin`: its id, or
  // its file.
  void restore(const std::string& plugin, const std::string& what) const;
  void restore(const Component& component, const char* function) const;

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGPIPE};

  std::string restore_changes() const;

  std::string c_locale_;
  std::locale locale_;
  std::string umask_;
  std::filesystem::path directory_;
  uint64_t arithmetic_;
  std::array<struct sigaction, kSignals.size()> actions_;
};

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
