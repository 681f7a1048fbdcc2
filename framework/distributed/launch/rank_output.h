// The output of ranks, which the launcher passes on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon::distributed {

// Splits the output of a rank into lines and adds a prefix to each.
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

// Buffers text for a file or terminal that may be slow, so that the writer never waits.
class OutputBacklog {
 public:
  // Maximum size of the buffer. Further lines are dropped. Their number is written when there is space again.
  static constexpr size_t kMaxBytes = 4 << 20;

  explicit OutputBacklog(int descriptor) : descriptor_(descriptor) {}

  // REQUIRES: whole lines, or nothing.
  void add(const std::string& lines);

  bool is_empty() const { return written_ == waiting_.size(); }
  int descriptor() const { return descriptor_; }

  // Writes a piece. If the reader has closed its end, all text is dropped from now on. REQUIRES: poll() has reported
  // the descriptor as ready or invalid.
  void write_some();

  // Writes the remaining text. Gives up if there is no progress within `patience_ms`.
  void write_rest(int patience_ms);

 private:
  void report_dropped_lines();

  int descriptor_;
  std::string waiting_;
  size_t written_ = 0;  // written bytes of waiting_
  size_t dropped_lines_ = 0;
  bool is_closed_ = false;
};

}  // namespace tenon::distributed
