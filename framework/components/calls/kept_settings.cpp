#include "framework/components/calls/kept_settings.h"

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <locale>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "framework/components/calls/guard.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/process/process_state.h"
#include "framework/support/text/format.h"

namespace tenon::components {

namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGPIPE};

struct HostSettings {
  std::string c_locale;
  std::locale locale;
  std::string umask;
  std::filesystem::path directory;
  std::array<struct sigaction, kSignals.size()> actions;
};

std::mutex& settings_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::optional<HostSettings>& host_settings() {
  static std::optional<HostSettings> settings;
  return settings;
}

bool is_same_action(const struct sigaction& one, const struct sigaction& other) {
  return one.sa_handler == other.sa_handler && one.sa_flags == other.sa_flags;
}

std::string describe_call(const Component& component, const char* function) {
  return fmt::format("{} of {}", function, component.describe());
}

struct Change {
  std::string setting;
  std::string from;
  std::string to;
};

// `plugin`: empty if the call is not known. Such a change is not reported if one of the same setting was.
void warn_once(const std::string& plugin, const std::string& what, const std::vector<Change>& changes) {
  static std::mutex mutex;
  static std::set<std::pair<std::string, std::string>> warned;  // setting and plugin
  std::string text;
  {
    const std::lock_guard lock(mutex);
    for (const Change& change : changes) {
      const auto first = warned.lower_bound({change.setting, ""});
      const bool is_known = plugin.empty() && first != warned.end() && first->first == change.setting;
      if (is_known || !warned.emplace(change.setting, plugin).second) continue;
      text += (text.empty() ? "" : ", ") + change.setting + " changed";
      if (!change.from.empty()) text += fmt::format(" ({}, then {})", change.from, change.to);
    }
  }
  if (text.empty()) return;
  support::log_warning_of_any_rank(fmt::format(
      "during {}, {}. The host restored it. A plugin must leave its process as it is; `host validate` names "
      "each function that changes it",
      what, text));
}

// REQUIRES: settings_mutex() is locked.
void restore_locale(std::vector<Change>& changes) {
  const std::string& before = host_settings()->c_locale;
  if (const std::string found = std::setlocale(LC_ALL, nullptr); found != before) {
    std::setlocale(LC_ALL, before.c_str());
    changes.push_back({"the locale", before, found});
  }
}

void restore_arithmetic(uint64_t before, std::vector<Change>& changes) {
  if (support::read_arithmetic_modes() == before) return;
  support::set_arithmetic_modes(before);
  changes.push_back({"the modes of floating-point arithmetic", "", ""});
}

// REQUIRES: settings_mutex() is locked.
void restore_process(std::vector<Change>& changes) {
  const HostSettings& before = *host_settings();
  restore_locale(changes);
  if (const std::locale found; found != before.locale) {
    std::locale::global(before.locale);
    if (changes.empty()) changes.push_back({"the locale", before.locale.name(), found.name()});
  }
  if (const std::string found = support::read_umask();
      !found.empty() && !before.umask.empty() && found != before.umask) {
    umask(static_cast<mode_t>(std::stoul(before.umask, nullptr, 8)));
    changes.push_back({"the umask", before.umask, found});
  }
  if (const std::filesystem::path found = support::read_working_folder(); found != before.directory) {
    std::error_code failure;
    std::filesystem::current_path(before.directory, failure);
    // A person may have renamed or removed the folder.
    if (!failure) changes.push_back({"the working directory", before.directory.string(), found.string()});
  }
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction found {};
    sigaction(kSignals[i], nullptr, &found);
    if (is_same_action(found, before.actions[i])) continue;
    sigaction(kSignals[i], &before.actions[i], nullptr);
    changes.push_back({fmt::format("the handler of SIG{}", sigabbrev_np(kSignals[i])), "", ""});
  }
}

}  // namespace

void record_host_settings() {
  const std::lock_guard lock(settings_mutex());
  std::optional<HostSettings>& settings = host_settings();
  settings =
      HostSettings{std::setlocale(LC_ALL, nullptr), {}, support::read_umask(), support::read_working_folder(), {}};
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &settings->actions[i]);
}

void restore_host_settings(const std::string& plugin, const std::string& what, uint64_t arithmetic) {
  if (!detail::restores_settings) return;
  std::vector<Change> changes;
  restore_arithmetic(arithmetic, changes);
  {
    const std::lock_guard lock(settings_mutex());
    if (host_settings()) restore_process(changes);
  }
  if (!changes.empty()) warn_once(plugin, what, changes);
}

void restore_host_settings(const Component& component, const char* function) {
  restore_host_settings(component.plugin->id, describe_call(component, function));
}

namespace detail {

std::atomic<bool> restores_settings{true};

void restore_quick_settings(const Component& component, const char* function, const QuickSettings& before) {
  if (!restores_settings) return;
  std::vector<Change> changes;
  restore_arithmetic(before.arithmetic, changes);
  {
    const std::lock_guard lock(settings_mutex());
    if (host_settings()) restore_locale(changes);  // another thread may have restored it
  }
  if (!changes.empty()) warn_once(component.plugin->id, describe_call(component, function), changes);
}

}  // namespace detail

}  // namespace tenon::components
