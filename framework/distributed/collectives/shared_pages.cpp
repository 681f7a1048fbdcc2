#include "framework/distributed/collectives/shared_pages.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "framework/support/text/format.h"

namespace tenon::distributed {

namespace {

using Clock = std::chrono::steady_clock;

// A rank usually finishes writing before a waiting rank could go to sleep.
constexpr int kTriesBeforeSleep = 2000;

// Interval at which a sleeping rank checks whether the other rank is alive.
constexpr long kPollIntervalNs = 50'000'000;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

bool has_reached(uint32_t count, uint32_t number) { return static_cast<int32_t>(count - number) > 0; }

// Gives a hardware thread on the same core a chance to run.
void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

void sleep_while(const std::atomic<uint32_t>& count, uint32_t value) {
  const timespec limit{0, kPollIntervalNs};
  ::syscall(SYS_futex, &count, FUTEX_WAIT, value, &limit, nullptr, 0);
}

// Each rank locks the byte at its index.
struct flock lock_of(int64_t rank) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

size_t bytes_of(int64_t size, size_t counters) {
  return static_cast<size_t>(size) * (counters + SharedPages::kSlots * SharedPages::kSlotBytes);
}

}  // namespace

SharedPages::SharedPages(int64_t size, std::chrono::milliseconds timeout)
    : rank_(0), size_(size), timeout_(timeout), file_(::memfd_create("tenon", MFD_CLOEXEC)) {
  if (!file_.is_open()) fail("cannot create shared memory");
  // Allocates all pages now: a page that cannot be allocated later would kill the process.
  if (const int error = ::posix_fallocate(file_.number(), 0, static_cast<off_t>(bytes_of(size, sizeof(Counters)))))
    throw std::runtime_error(std::string("cannot create shared memory: ") + std::strerror(error));
  map();
}

SharedPages::SharedPages(const std::string& name, int64_t rank, int64_t size, std::chrono::milliseconds timeout)
    : rank_(rank), size_(size), timeout_(timeout), file_(::open(name.c_str(), O_RDWR | O_CLOEXEC)) {
  if (!file_.is_open()) fail(name + ": cannot open the shared memory of rank 0");
  map();
}

SharedPages::~SharedPages() { ::munmap(pages_, bytes_of(size_, sizeof(Counters))); }

void SharedPages::map() {
  void* const pages = ::mmap(nullptr, bytes_of(size_, sizeof(Counters)), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_POPULATE, file_.number(), 0);
  if (pages == MAP_FAILED) fail("cannot map shared memory");
  pages_ = static_cast<std::byte*>(pages);
  // This rank is alive as long as it has a lock, which the system releases when the process ends for any reason.
  struct flock lock = lock_of(rank_);
  if (::fcntl(file_.number(), F_OFD_SETLK, &lock) != 0) fail("cannot lock shared memory");
}

std::string SharedPages::name() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_.number());
}

bool SharedPages::is_alive(int64_t rank) const {
  struct flock lock = lock_of(rank);
  return ::fcntl(file_.number(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

SharedPages::Counters& SharedPages::counters(int64_t rank) const { return reinterpret_cast<Counters*>(pages_)[rank]; }

std::byte* SharedPages::slot(int64_t rank, uint32_t number) const {
  const auto place = static_cast<size_t>(rank) * kSlots + number % kSlots;
  return pages_ + static_cast<size_t>(size_) * sizeof(Counters) + place * kSlotBytes;
}

void SharedPages::advance(Counter& counter, uint32_t number) {
  counter.count.store(number + 1);
  // The sequentially consistent order guarantees: this thread sees the sleeper, or the sleeper sees the new count.
  if (counter.sleepers.load() > 0) ::syscall(SYS_futex, &counter.count, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void SharedPages::wait(int64_t rank, Counter& counter, uint32_t number) const {
  for (int tries = 0; tries < kTriesBeforeSleep; ++tries) {
    if (has_reached(counter.count.load(), number)) return;
    pause_briefly();
  }
  const Clock::time_point deadline = Clock::now() + timeout_;
  for (;;) {
    counter.sleepers.fetch_add(1);
    const uint32_t count = counter.count.load();
    if (!has_reached(count, number)) sleep_while(counter.count, count);
    counter.sleepers.fetch_sub(1);
    if (has_reached(counter.count.load(), number)) return;
    if (is_abandoned_) throw std::runtime_error("the sum was cancelled");
    if (!is_alive(rank)) throw std::runtime_error("rank " + std::to_string(rank) + " has ended");
    if (Clock::now() >= deadline)
      throw std::runtime_error(fmt::format("rank {} did not respond within {} ms", rank, timeout_.count()));
  }
}

}  // namespace tenon::distributed
