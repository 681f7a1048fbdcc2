// Memory that the ranks of one machine share. Each rank has slots that it writes and all ranks read. Counters
// synchronise the ranks. This module does not use tensors.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "framework/support/files/file_descriptor.h"

namespace tenon::distributed {

class SharedPages {
 public:
  static constexpr size_t kSlotBytes = 256 << 10;
  static constexpr uint32_t kSlots = 4;  // slots of each rank, used one after another

  // For rank 0: creates the memory. Throws std::runtime_error with the reason.
  SharedPages(int64_t size, std::chrono::milliseconds timeout);
  // For other ranks: opens the memory with the `name` from rank 0. Throws std::runtime_error with the reason.
  SharedPages(const std::string& name, int64_t rank, int64_t size, std::chrono::milliseconds timeout);
  ~SharedPages();
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  std::string name() const;
  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }

  std::byte* slot(int64_t rank, uint32_t number) const;

  // Mark that this rank has written its slot of this number, or has read the slots of all ranks. Numbers start at 0 and
  // wrap around at 2^32.
  void set_written(uint32_t number) { advance(counters(rank_).written, number); }
  void set_read(uint32_t number) { advance(counters(rank_).read, number); }
  // Wait until rank r has done so. Throw std::runtime_error if its process has ended or the timeout has expired.
  void wait_written(int64_t r, uint32_t number) const { wait(r, counters(r).written, number); }
  void wait_read(int64_t r, uint32_t number) const { wait(r, counters(r).read, number); }
  // Sends `bytes` of each rank through the slots in parts: writes a part and then reads the part before it, so that the
  // other ranks have time to write theirs. write(number, part) and read(number, part) use the slots of this number,
  // which `next` counts.
  template <class Write, class Read>
  void send_in_parts(size_t bytes, uint32_t& next, const Write& write, const Read& read) {
    const size_t parts = (bytes + kSlotBytes - 1) / kSlotBytes;
    const uint32_t first = next;
    next += static_cast<uint32_t>(parts);
    for (size_t i = 0; i <= parts; ++i) {
      if (i < parts) {
        const uint32_t number = first + static_cast<uint32_t>(i);
        // All ranks must have read the previous contents of the slot. Numbers before 0 count as read.
        for (int64_t r = 0; r < size_; ++r)
          if (r != rank_) wait_read(r, number - kSlots);
        write(number, i);
        set_written(number);
      }
      if (i == 0) continue;
      read(first + static_cast<uint32_t>(i - 1), i - 1);
      set_read(first + static_cast<uint32_t>(i - 1));
    }
  }
  // Cancels all waits, which then throw. [any thread]
  void abandon() { is_abandoned_ = true; }

 private:
  // The number of completed slots and of sleeping ranks.
  struct Counter {
    std::atomic<uint32_t> count;
    std::atomic<uint32_t> sleepers;
  };
  // Each counter has separate cache lines.
  struct alignas(128) Counters {
    alignas(64) Counter written;
    alignas(64) Counter read;
  };
  static_assert(std::atomic<uint32_t>::is_always_lock_free, "the counters are shared by processes");

  void map();
  bool is_alive(int64_t rank) const;
  Counters& counters(int64_t rank) const;
  static void advance(Counter& counter, uint32_t number);
  void wait(int64_t rank, Counter& counter, uint32_t number) const;

  int64_t rank_;
  int64_t size_;
  std::chrono::milliseconds timeout_;
  support::FileDescriptor file_;
  std::byte* pages_ = nullptr;
  std::atomic<bool> is_abandoned_{false};
};

}  // namespace tenon::distributed
