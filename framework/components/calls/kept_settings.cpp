#include "framework/components/calls/kept_settings.h"

#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <unistd.h>

#include "framework/components/calls/guard.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format.h"

namespace tenon::components {

namespace {

// Reading the umask by umask() would change it for a moment, also for other threads.
std::string read_umask() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Umask:")) return line.substr(line.find_first_of("01234567"));
  return "";
}

std::filesystem::path read_directory() {
  std::error_code failure;
  return std::filesystem::current_path(failure);
}

bool is_same_action(const struct sigaction& one, const struct sigaction& other) {
  return one.sa_handler == other.sa_handler && one.sa_flags == other.sa_flags;
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
      text += (text.empty() ? "" : ", and ") + change.setting;
      if (!change.from.empty()) text += fmt::format(" ({}, then {})", change.from, change.to);
    }
  }
  if (text.empty()) return;
  support::log_warning_of_any_rank(fmt::format(
      "{} changed {}. The host restored it. A plugin must leave its process as it is; `host validate` names "
      "each function that changes it",
      what, text));
}

// The locale of the host, which a change of the current one does not free.
const std::string& host_locale() {
  static const std::string name = std::setlocale(LC_ALL, nullptr);
  return name;
}

}  // namespace

KeptSettings::KeptSettings()
    : c_locale_(host_locale()),
      umask_(read_umask()),
      directory_(read_directory()),
      arithmetic_(support::read_arithmetic_modes()) {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &actions_[i]);
}

void KeptSettings::restore(const std::string& plugin, const std::string& what) const {
  if (!detail::restores_settings) return;
  std::vector<Change> changes;
  if (const std::string found = std::setlocale(LC_ALL, nullptr); found != c_locale_) {
    std::setlocale(LC_ALL, c_locale_.c_str());
    changes.push_back({"the locale", c_locale_, found});
  }
  if (const std::locale found; found != locale_) {
    std::locale::global(locale_);
    if (changes.empty()) changes.push_back({"the locale", locale_.name(), found.name()});
  }
  if (const std::string found = read_umask(); !found.empty() && !umask_.empty() && found != umask_) {
    umask(static_cast<mode_t>(std::stoul(umask_, nullptr, 8)));
    changes.push_back({"the umask", umask_, found});
  }
  if (const std::filesystem::path found = read_directory(); found != directory_) {
    std::error_code failure;
    std::filesystem::current_path(directory_, failure);
    changes.push_back({"the working directory", directory_.string(), found.string()});
  }
  if (support::read_arithmetic_modes() != arithmetic_) {
    support::set_arithmetic_modes(arithmetic_);
    changes.push_back({"the modes of floating-point arithmetic", "", ""});
  }
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction found {};
    sigaction(kSignals[i], nullptr, &found);
    if (is_same_action(found, actions_[i])) continue;
    sigaction(kSignals[i], &actions_[i], nullptr);
    changes.push_back({fmt::format("the handler of SIG{}", sigabbrev_np(kSignals[i])), "", ""});
  }
  if (!changes.empty()) warn_once(plugin, what, changes);
}

void KeptSettings::restore(const Component& component, const char* function) const {
  restore(component.plugin->id, fmt::format("{} of {}", function, component.describe()));
}

namespace detail {

std::atomic<bool> restores_settings{true};

void restore_quick_settings(const Component& component, const char* function, const QuickSettings& before) {
  if (!restores_settings) return;
  std::vector<Change> changes;
  if (const uint64_t found = support::read_arithmetic_modes(); found != before.arithmetic) {
    support::set_arithmetic_modes(before.arithmetic);
    changes.push_back({"the modes of floating-point arithmetic", "", ""});
  }
  // Another thread may have restored it.
  if (const std::string found = std::setlocale(LC_ALL, nullptr); found != host_locale()) {
    std::setlocale(LC_ALL, host_locale().c_str());
    changes.push_back({"the locale", host_locale(), found});
  }
  if (!changes.empty())
    warn_once(component.plugin->id, fmt::format("{} of {}", function, component.describe()), changes);
}

}  // namespace detail

}  // namespace tenon::components
