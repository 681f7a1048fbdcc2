// A fuzz target: a function that gets arbitrary bytes and aborts if an invariant is violated. Each file in targets/
// defines one, such as
//   TENON_FUZZ_TARGET(csv) { read_csv(as_text(input)); }
// libFuzzer runs it through fuzzer_main.cpp, and the tests run it on the seeds through replay_test.cpp.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/support/files/file_descriptor.h"

namespace tenon::fuzz {

using Input = std::span<const uint8_t>;

struct FuzzTarget {
  const char* name;  // its seeds are in seeds/NAME
  void (*run)(Input input);
};

// The targets of this program.
std::vector<FuzzTarget>& list_targets();
bool add_target(const char* name, void (*run)(Input input));

// Runs the target, and ends the program if it leaves a descriptor open.
void run_target(const FuzzTarget& target, Input input);

// Ends the program if an invariant is violated. libFuzzer then stores the input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

inline std::string_view as_text(Input input) { return {reinterpret_cast<const char*>(input.data()), input.size()}; }

// Removes the text up to the first `end`, or all of it, and returns it without `end`.
std::string_view take_until(std::string_view& text, std::string_view end);

// Takes numbers from the front of an input: its first bytes choose how the rest is read.
class Choices {
 public:
  explicit Choices(Input input) : rest_(input) {}

  // A number below `count`; 0 at the end of the input.
  size_t choose(size_t count) {
    if (rest_.empty()) return 0;
    const size_t choice = rest_.front() % count;
    rest_ = rest_.subspan(1);
    return choice;
  }
  Input rest() const { return rest_; }

 private:
  Input rest_;
};

// An in-memory file with the given bytes.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  explicit MemoryFile(Input bytes) : MemoryFile(as_text(bytes)) {}
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_.number()); }
  int descriptor() const { return descriptor_.number(); }

 private:
  support::FileDescriptor descriptor_;
};

}  // namespace tenon::fuzz

#define TENON_FUZZ_TARGET(name)                                                                     \
  static void fuzz_##name(tenon::fuzz::Input input);                                                \
  [[maybe_unused]] static const bool name##_is_added = tenon::fuzz::add_target(#name, fuzz_##name); \
  static void fuzz_##name(tenon::fuzz::Input input)
