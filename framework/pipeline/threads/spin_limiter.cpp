#include "framework/pipeline/threads/spin_limiter.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/process/signals_blocked.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

namespace {

constexpr std::chrono::milliseconds kInterval{100};
// Shares of an interval, summed over the threads. Next to a busy process they wait for at least half of the time,
// spinning or not. On a machine without other work they wait for up to 0.16 while they spin next to the data workers,
// and up to 0.05 while they sleep.
constexpr double kContended = 0.3;
constexpr double kFree = 0.12;
// If spinning was contended soon after it was allowed, it is allowed again after twice as long.
constexpr int64_t kFirstIntervals = 5;
constexpr int64_t kMostIntervals = 80;
constexpr int64_t kLastingIntervals = 20;

// libgomp's entry points, which compilers call. Null with another OpenMP library.
using RunParallel = void (*)(void (*function)(void*), void* data, unsigned threads, unsigned flags);
using CountCores = int (*)();

template <typename Function>
Function find_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

bool uses_libgomp() {
  // Intel's and LLVM's libraries have GOMP_parallel, too.
  return find_function<RunParallel>("GOMP_parallel") && find_function<CountCores>("omp_get_num_procs") &&
         !find_function<int (*)()>("kmp_get_blocktime");
}

bool is_users_choice() {
  return std::ranges::any_of(std::array{"GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY", "OMP_WAIT_POLICY"},
                             [](const char* name) { return std::getenv(name) != nullptr; });
}

template <typename Function>
std::jthread start_thread(const char* name, Function function) {
  const support::SignalsBlocked blocked;
  return std::jthread([name, function](const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), name);
    function(stop);
  });
}

std::vector<std::filesystem::path> list_threads() {
  try {
    return support::list_folder("/proc/self/task", support::ErrorKind::system);
  } catch (const support::Error&) {
    return {};
  }
}

// Returns the second number of schedstat: nanoseconds spent waiting on a run queue.
std::optional<int64_t> parse_wait(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == text.npos) return {};
  int64_t wait = 0;
  const char* const begin = text.data() + space + 1;
  if (std::from_chars(begin, text.data() + text.size(), wait).ec != std::errc()) return {};
  return wait;
}

// Measures until it is stopped.
void adapt_spinning(int64_t threads, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  SpinDecision decision;
  CoreWaits waits;
  waits.since_last_call();
  std::unique_ptr<SpinLimit> limit;
  Clock::time_point last = Clock::now();
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  for (;;) {
    stopped.wait_for(lock, stop, kInterval, [] { return false; });
    if (stop.stop_requested()) return;
    const Clock::time_point now = Clock::now();
    const double waiting = static_cast<double>(waits.since_last_call()) /
                           static_cast<double>(std::chrono::nanoseconds(now - last).count());
    last = now;
    const bool may_spin = decision.update(waiting);
    if (may_spin == !limit) continue;
    if (may_spin) {
      limit.reset();
      continue;
    }
    try {
      limit = std::make_unique<SpinLimit>(threads);
    } catch (const support::Error& error) {
      support::log_info("waiting OpenMP threads keep spinning: " + std::string(error.what()));
      return;
    }
  }
}

// Allocates nothing: the first allocation of a thread reserves address space for all later ones.
void* wait_for_end(void* end) {
  static_cast<std::latch*>(end)->wait();
  return nullptr;
}

}  // namespace

bool SpinDecision::update(double waiting) {
  if (may_spin_) {
    ++intervals_;
    if (waiting <= kContended) return true;
    const bool lasted = intervals_ > kLastingIntervals;
    required_intervals_ =
        lasted || required_intervals_ == 0 ? kFirstIntervals : std::min(2 * required_intervals_, kMostIntervals);
    may_spin_ = false;
    intervals_ = 0;
    return false;
  }
  intervals_ = waiting < kFree ? intervals_ + 1 : 0;
  if (intervals_ < required_intervals_) return false;
  may_spin_ = true;
  intervals_ = 0;
  return true;
}

int64_t CoreWaits::since_last_call() {
  std::map<std::string, int64_t> totals;
  int64_t sum = 0;
  for (const std::filesystem::path& folder : list_threads()) {
    const std::optional<int64_t> total = parse_wait(support::read_text(folder / "schedstat"));
    if (!total) continue;
    const std::string thread = folder.filename();
    if (const auto before = totals_.find(thread); before != totals_.end()) sum += *total - before->second;
    totals.emplace(thread, *total);
  }
  totals_ = std::move(totals);
  return sum;
}

SpinLimit::SpinLimit(int64_t threads) {
  const int64_t cores = find_function<CountCores>("omp_get_num_procs")();
  // libgomp counts the operator threads, and those of a team without its master.
  const int64_t team = std::max<int64_t>(2, cores - threads + 2);
  require_threads(team);
  holder_ = start_thread("tenon-spin-limit", [team](const std::stop_token& stop) {
    find_function<RunParallel>("GOMP_parallel")([](void*) {}, nullptr, static_cast<unsigned>(team), /*flags=*/0);
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, stop, [] { return false; });
    // libgomp ends the threads of the team when this thread ends.
  });
}

void limit_spinning(int64_t threads) {
  if (threads < 2 || is_users_choice() || !uses_libgomp()) return;
  static const std::jthread limiter =  // until the process ends
      start_thread("tenon-spin", [threads](const std::stop_token& stop) { adapt_spinning(threads, stop); });
}

void require_threads(int64_t count) {
  std::latch end(1);
  std::vector<pthread_t> threads;
  threads.reserve(static_cast<size_t>(count));
  int error = 0;
  while (error == 0 && static_cast<int64_t>(threads.size()) < count) {
    pthread_t thread{};
    error = pthread_create(&thread, nullptr, wait_for_end, &end);
    if (error == 0) threads.push_back(thread);
  }
  end.count_down();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  if (error == 0) return;
  throw support::Error(support::ErrorKind::system,
                       "LibTorch needs {}, but the system allowed only {} to start ({}); set a smaller run.threads, or "
                       "raise the limits of processes (ulimit -u) and of memory (ulimit -v)",
                       support::format_count(count, "thread"), threads.size(), std::strerror(error));
}

}  // namespace tenon::pipeline
