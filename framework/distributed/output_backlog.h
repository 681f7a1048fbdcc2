// Text on its way to a file or terminal that may be slow: whoever hands it over never waits.
#pragma once

#include <cstddef>
#include <string>

namespace tenon::distributed {

class OutputBacklog {
 public:
  // What waits at most; later lines are left out, and how many is said once there is room again.
  static constexpr size_t kMostBytes = 4 << 20;

  explicit OutputBacklog(int descriptor) : descriptor_(descriptor) {}

  // REQUIRES: whole lines, or nothing.
  void add(const std::string& lines);

  bool is_empty() const { return written_ == waiting_.size(); }
  int descriptor() const { return descriptor_; }

  // Writes a piece. REQUIRES: poll() has said that the descriptor is ready, or is none. Where nobody reads any longer,
  // all text is dropped from here on.
  void write_some();

  // Writes all that is left, as long as within `patience_ms` some of it goes on.
  void write_rest(int patience_ms);

 private:
  void say_what_is_left_out();

  int descriptor_;
  std::string waiting_;
  size_t written_ = 0;  // bytes of it
  size_t lines_left_out_ = 0;
  bool is_closed_ = false;
};

}  // namespace tenon::distributed
