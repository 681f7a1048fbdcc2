#include "host/process/call_reports.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "framework/components/calls/call_monitor.h"
#include "framework/components/calls/call_record.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/process/signals_blocked.h"
#include "host/process/signals.h"

namespace tenon::host {

namespace {

using namespace std::chrono_literals;
using components::CallMonitor;
using CallDuration = CallMonitor::Duration;

constexpr CallDuration kCallPeriod = 250ms;
// After a stop signal. A second signal ends the process only from then on.
constexpr CallDuration kStopReport = 1s;
// A shorter call is not what the process waits for.
constexpr CallDuration kWorthNaming = 500ms;

CallDuration first_call_report = kFirstCallReport;  // constant once the thread runs
std::atomic<bool> is_exiting{false};
std::atomic<bool> has_stopped{false};  // the run that a signal stopped has ended
std::atomic<int64_t> reporting_rank{0};

// Never destroyed, because its thread runs until the process ends.
CallMonitor& call_monitor() {
  static CallMonitor* const monitor = new CallMonitor(first_call_report);
  return *monitor;
}

// The state of the thread.
class CallReports {
 public:
  void update(CallDuration passed) {
    call_monitor().update(passed);
    report_due_calls();
    if (const int signal = stop_signal(); signal != 0) report_stop(signal, passed);
    if (is_exiting) report_exit(passed);
  }

 private:
  void report_due_calls() const {
    const std::vector<CallMonitor::LongCall> due = call_monitor().take_due();
    if (due.empty()) return;
    const std::string others =
        due.size() > 1 ? fmt::format("; {} more calls have not returned either", due.size() - 1) : "";
    support::log_warning_of_any_rank(
        fmt::format("{}{}; to see where it is, attach a debugger: gdb -p {}; to end the run, press Ctrl-C twice",
                    due.front().describe(), others, getpid()));
  }

  void report_stop(int signal, CallDuration passed) {
    if (is_stop_reported_ || has_stopped) return;
    if (!is_stopping_) {
      is_stopping_ = true;
      return;
    }
    stopping_ += passed;
    if (stopping_ < kStopReport) return;
    is_stop_reported_ = true;
    const std::vector<CallMonitor::LongCall> calls = call_monitor().find_calls(kWorthNaming);
    if (calls.empty() && reporting_rank != 0) return;
    const char* const name = sigabbrev_np(signal);
    const std::string what = calls.empty() ? "" : "; " + calls.front().describe();
    support::log_warning_of_any_rank(
        fmt::format("received SIG{}: {}{}; to end at once without saving, {} again", name ? name : "?",
                    is_exiting ? "the process is ending" : "the run ends after the current step", what,
                    signal == SIGINT ? "press Ctrl-C" : "send the signal"));
  }

  void report_exit(CallDuration passed) {
    exiting_ += passed;
    if (exiting_ < next_exit_report_) return;
    next_exit_report_ = 2 * exiting_;
    support::log_warning_of_any_rank(fmt::format(
        "the work is done, but the process has not ended for {} s: a destructor of a static object, or a function "
        "given to atexit(), of a plugin or a library does not return; press Ctrl-C twice to end the process",
        std::chrono::round<std::chrono::seconds>(exiting_).count()));
  }

  bool is_stopping_ = false;
  CallDuration stopping_{0};  // time since the stop signal was seen
  bool is_stop_reported_ = false;
  CallDuration exiting_{0};
  CallDuration next_exit_report_ = first_call_report;
};

[[noreturn]] void run_call_reports() {
  pthread_setname_np(pthread_self(), "tenon-calls");
  CallReports reports;
  for (auto last = std::chrono::steady_clock::now();;) {
    std::this_thread::sleep_for(kCallPeriod);
    const auto now = std::chrono::steady_clock::now();
    // The process may have been stopped, such as by Ctrl-Z. That time does not count.
    reports.update(std::min(std::chrono::duration_cast<CallDuration>(now - last), 2 * kCallPeriod));
    last = now;
  }
}

}  // namespace

void start_call_reports(std::chrono::milliseconds first_report) {
  static const bool is_started = [&] {
    first_call_report = first_report;
    const support::SignalsBlocked blocked;
    std::thread(run_call_reports).detach();
    return true;
  }();
  static_cast<void>(is_started);
}

void report_end_of_stopped_run() { has_stopped = true; }

void report_hanging_exit() { is_exiting = true; }

void report_calls_of_rank(int64_t rank) { reporting_rank = rank; }

std::string describe_running_call() {
  std::string of_main;
  components::for_each_call_record([&](const components::CallRecord& record) {
    components::Breadcrumb place{};
    if (components::is_main_thread(record.thread()) && record.read(place) != 0) of_main = components::describe(place);
  });
  if (!of_main.empty()) return "in " + of_main;
  const std::string of_other = find_overdue_call(kWorthNaming, /*includes_main_thread=*/false);
  return of_other.empty() ? "busy outside of any plugin" : of_other;
}

std::string find_overdue_call(std::chrono::milliseconds longer_than, bool includes_main_thread) {
  for (const CallMonitor::LongCall& call : call_monitor().find_calls(longer_than))
    if (includes_main_thread || !components::is_main_thread(call.thread))
      return "in " + call.place + ", for " + call.seconds() + " s " + call.where();
  return "";
}

}  // namespace tenon::host
