#include "tests/bad_plugins/validated.h"

#include <csignal>

#include "framework/support/diagnostics/error.h"
#include "framework/validation/validate.h"

namespace tenon::bad_plugins {

namespace {

// Restores the default handlers, because a crash of a check is an expected result. A child process would inherit
// doctest's handlers, which report the crash.
class DefaultSignalHandlers {
 public:
  DefaultSignalHandlers() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], nullptr, &before_[i]);
    for (const int number : kSignals) std::signal(number, SIG_DFL);
  }
  ~DefaultSignalHandlers() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  DefaultSignalHandlers(const DefaultSignalHandlers&) = delete;
  DefaultSignalHandlers& operator=(const DefaultSignalHandlers&) = delete;

 private:
  static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGINT};
  struct sigaction before_[std::size(kSignals)];
};

}  // namespace

Answer validate(const std::string& file, const Options& options) {
  const DefaultSignalHandlers handlers;
  validation::ValidationRequest request{file, 0, {}, options.component, options.check, options.timeout_s};
  for (const std::string& given : options.params) {
    const size_t equals = given.find('=');
    request.params.push_back({given.substr(0, equals), given.substr(equals + 1)});
  }
  Answer answer{0, {}, {}, {}, ""};
  bool is_untested = false;
  for (const validation::CheckResult& result : validation::validate(request, [](const auto&) {})) {
    const std::string name = result.component + " " + result.check->name;
    answer.statuses[name] = validation::to_string(result.status);
    answer.reasons[name] = result.reason;
    answer.outputs[name] = result.output;
    answer.text += name + ": " + answer.statuses[name] + " " + result.reason + "\n" + result.output;
    if (!result.needed_params.empty()) is_untested = true;
  }
  if (!answer.with("fail").empty())
    answer.exit_code = static_cast<int>(support::ErrorKind::plugin);
  else if (is_untested)
    answer.exit_code = static_cast<int>(support::ErrorKind::configuration);
  return answer;
}

}  // namespace tenon::bad_plugins
