#include "framework/components/calls/call_monitor.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <utility>

#include "framework/components/calls/call_record.h"

namespace tenon::components {

namespace {

std::vector<CallMonitor::LongCall> longest_first(std::vector<CallMonitor::LongCall> calls) {
  std::ranges::stable_sort(calls, std::greater(), &CallMonitor::LongCall::lasted);
  return calls;
}

}  // namespace

std::string CallMonitor::LongCall::seconds() const {
  return std::to_string(std::chrono::round<std::chrono::seconds>(lasted).count());
}

std::string CallMonitor::LongCall::describe() const {
  return place + ", has not returned for " + seconds() + " s (" + where() + ")";
}

std::string CallMonitor::LongCall::where() const {
  if (is_main_thread(thread)) return "on the main thread";
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/comm");
  std::string name;
  std::getline(file, name);
  return "on thread " + (name.empty() ? std::to_string(thread) : name);
}

void CallMonitor::update(Duration passed) {
  const std::lock_guard lock(mutex_);
  std::map<uint64_t, Seen> before = std::exchange(seen_, {});
  for_each_call_record([&](const CallRecord& record) {
    Breadcrumb place{};
    const uint64_t number = record.read(place);
    if (number == 0 || (!place.component && !place.file)) return;
    auto known = before.extract(number);
    if (known.empty()) {
      seen_.emplace(number, Seen{{"", Duration(0), record.thread()}, first_report_});
      return;
    }
    Seen& seen = known.mapped();
    // Described once, and only for calls that were seen before: a short call may end meanwhile, and its component
    // later.
    if (seen.call.place.empty()) seen.call.place = describe(place);
    seen.call.lasted += passed;
    if (seen.call.lasted >= seen.next_report) {
      seen.is_due = true;
      seen.next_report = 2 * seen.call.lasted;
    }
    seen_.insert(std::move(known));
  });
}

std::vector<CallMonitor::LongCall> CallMonitor::take_due() {
  const std::lock_guard lock(mutex_);
  std::vector<LongCall> due;
  for (auto& [number, seen] : seen_)
    if (std::exchange(seen.is_due, false)) due.push_back(seen.call);
  return longest_first(std::move(due));
}

std::vector<CallMonitor::LongCall> CallMonitor::find_calls(Duration at_least) const {
  const std::lock_guard lock(mutex_);
  std::vector<LongCall> found;
  for (const auto& [number, seen] : seen_)
    if (!seen.call.place.empty() && seen.call.lasted >= at_least) found.push_back(seen.call);
  return longest_first(std::move(found));
}

bool is_main_thread(pid_t thread) { return thread == getpid(); }

}  // namespace tenon::components
