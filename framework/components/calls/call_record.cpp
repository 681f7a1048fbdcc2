#include "framework/components/calls/call_record.h"

#include <unistd.h>

#include <mutex>
#include <vector>

#include "framework/components/calls/component.h"
#include "framework/support/process/signal_stack.h"

namespace tenon::components {

namespace {

struct CallRecords {
  std::mutex mutex;
  std::vector<CallRecord*> records;  // of the running threads
  uint64_t registered = 0;           // threads so far
};

// Never destroyed, because plugins may be called while the process exits.
CallRecords& call_records() {
  static CallRecords* const all = new CallRecords;
  return *all;
}

}  // namespace

uint64_t CallRecord::read(Breadcrumb& place) const noexcept {
  const uint64_t number = number_.load(std::memory_order_acquire);
  if (number % 2 != 0) return 0;
  place = get();
  return number_.load(std::memory_order_relaxed) == number ? number : 0;
}

// The record keeps its contents after the thread's other objects have been destroyed: exit() in a plugin is reported
// after that.
void CallRecord::register_thread() noexcept {
  struct Registration {
    CallRecord* record = nullptr;
    ~Registration() {
      CallRecords& all = call_records();
      const std::lock_guard lock(all.mutex);
      std::erase(all.records, record);
    }
  };
  thread_local const support::SignalStack stack;  // a plugin may overflow the thread's stack
  thread_local Registration registration;
  CallRecords& all = call_records();
  const std::lock_guard lock(all.mutex);
  registration.record = this;
  all.records.push_back(this);
  // The numbers of two threads never overlap.
  number_.store(++all.registered << 40, std::memory_order_relaxed);
  thread_ = gettid();
  is_registered_ = true;
}

void for_each_call_record(const std::function<void(const CallRecord&)>& read) {
  CallRecords& all = call_records();
  const std::lock_guard lock(all.mutex);
  for (const CallRecord* record : all.records) read(*record);
}

std::string describe(const Breadcrumb& place) {
  if (!place.component) return place.file ? std::string("the opening of ") + place.file : "";
  std::string text = place.component->describe() + ", function " + place.function;
  if (place.at.unit) text += ", " + place.at();
  return text;
}

}  // namespace tenon::components
