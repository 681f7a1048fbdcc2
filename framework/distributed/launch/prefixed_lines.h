// Splits the output of a rank into lines and adds a prefix to each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::distributed {

class PrefixedLines {
 public:
  // Longer lines are split.
  static constexpr size_t kMaxLineLength = 16 << 10;

  explicit PrefixedLines(std::string prefix) : prefix_(std::move(prefix)) {}

  // Returns all complete lines, each with the prefix and a line feed. Keeps the text after the last one.
  std::string add(std::string_view bytes);

  // Returns the kept text as a line. Empty if there is none.
  std::string finish();

 private:
  std::string prefix_;
  std::string begun_;  // at most kMaxLineLength bytes, without a line feed
};

}  // namespace tenon::distributed
