#include "tests/fuzz/fuzz_target.h"

#include <dirent.h>
#include <sys/mman.h>

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

size_t count_descriptors() {
  DIR* const folder = ::opendir("/proc/self/fd");
  require(folder != nullptr);
  size_t count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

}  // namespace

void run_target(const FuzzTarget& target, Input input) {
  static std::string_view prepared;
  // The first run opens descriptors that stay open, such as the pipes to a reference program.
  if (prepared != target.name) {
    target.run(input);
    prepared = target.name;
  }
  // Counted again for each input: between two of them libFuzzer starts a symbolizer and keeps its pipes.
  const size_t before = count_descriptors();
  target.run(input);
  require(count_descriptors() == before);
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
