#include "tests/fuzz/fuzz_target.h"

#include <sys/mman.h>

#include <utility>

namespace tenon::fuzz {

std::vector<FuzzTarget>& list_targets() {
  static std::vector<FuzzTarget> targets;
  return targets;
}

bool add_target(const char* name, void (*run)(Input input)) {
  list_targets().push_back({name, run});
  return true;
}

namespace {

// The lowest number that is not in use. It grows if a descriptor stays open.
int find_free_descriptor() { return support::FileDescriptor(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)).number(); }

}  // namespace

void run_target(const FuzzTarget& target, Input input) {
  static bool is_first = true;
  // The first run opens descriptors that stay open, such as the pipes to a reference program.
  if (std::exchange(is_first, false)) target.run(input);
  const int before = find_free_descriptor();
  target.run(input);
  require(find_free_descriptor() == before);
}

std::string_view take_until(std::string_view& text, std::string_view end) {
  const size_t found = text.find(end);
  const std::string_view taken = text.substr(0, found);
  text.remove_prefix(found == std::string_view::npos ? text.size() : found + end.size());
  return taken;
}

MemoryFile::MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("fuzzed", MFD_CLOEXEC)) {
  require(descriptor_.is_open());
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_.number(), bytes.data(), bytes.size());
    require(written > 0);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace tenon::fuzz
