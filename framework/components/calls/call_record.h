// The call of a plugin that each thread is in. The thread itself writes it, and any thread can read it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace tenon::components {

struct Component;

// The position of a call in a run: {"step", 3}, {"train sample", 17}.
struct At {
  const char* unit = nullptr;  // a text that outlives the call; null: no position
  int64_t number = 0;
  std::string operator()() const { return unit ? std::string(unit) + " " + std::to_string(number) : std::string(); }
};

// The plugin function that a thread is in; null outside. Plain pointers, so that a signal handler may read it.
struct Breadcrumb {
  const Component* component;
  const char* function;
  At at;
  const char* file;  // of a plugin that is being opened, before there is a component to name
};

// `dataset "digits" of plugin digits 0.1.0, function get, train sample 17`, or empty outside of any plugin.
std::string describe(const Breadcrumb& place);

// Recording a call takes a few plain stores and no lock. A thread is registered at its first call.
class CallRecord {
 public:
  constexpr CallRecord() = default;
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  // [the record's thread]
  void set(const Breadcrumb& place) noexcept {
    if (!is_registered_) register_thread();
    const uint64_t number = number_.load(std::memory_order_relaxed);
    number_.store(number + 1, std::memory_order_relaxed);  // odd: changing
    // A reader that sees a new value below also sees the odd number.
    component_.store(place.component, std::memory_order_release);
    function_.store(place.function, std::memory_order_release);
    unit_.store(place.at.unit, std::memory_order_release);
    at_.store(place.at.number, std::memory_order_release);
    file_.store(place.file, std::memory_order_release);
    number_.store(number + 2, std::memory_order_release);
  }

  // [the record's thread, or a signal handler on it]
  Breadcrumb get() const noexcept {
    return {component_.load(std::memory_order_acquire),
            function_.load(std::memory_order_acquire),
            {unit_.load(std::memory_order_acquire), at_.load(std::memory_order_acquire)},
            file_.load(std::memory_order_acquire)};
  }

  // [any thread] Returns the number of the call, which is different for each call in the process, or 0 if the record is
  // just being changed.
  uint64_t read(Breadcrumb& place) const noexcept;

  pid_t thread() const noexcept { return thread_; }

 private:
  void register_thread() noexcept;

  std::atomic<uint64_t> number_{0};
  std::atomic<const Component*> component_{nullptr};
  std::atomic<const char*> function_{nullptr};
  std::atomic<const char*> unit_{nullptr};
  std::atomic<int64_t> at_{0};
  std::atomic<const char*> file_{nullptr};
  bool is_registered_ = false;
  pid_t thread_ = 0;  // thread ID of the system
};
static_assert(std::atomic<const Component*>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

// Calls `read` for the record of each thread that has called a plugin. Threads do not end meanwhile.
void for_each_call_record(const std::function<void(const CallRecord&)>& read);

}  // namespace tenon::components
