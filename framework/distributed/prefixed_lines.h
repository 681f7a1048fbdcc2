// What one rank writes, cut into lines that say whose they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::distributed {

class PrefixedLines {
 public:
  // A line that is longer becomes several.
  static constexpr size_t kLongestLine = 16 << 10;

  explicit PrefixedLines(std::string prefix) : prefix_(std::move(prefix)) {}

  // All lines that are now complete, each with the prefix and a line feed; what follows the last one is kept.
  std::string add(std::string_view bytes);

  // What was kept, as a line; empty if nothing was.
  std::string finish();

 private:
  std::string prefix_;
  std::string begun_;  // at most kLongestLine bytes, without a line feed
};

}  // namespace tenon::distributed
