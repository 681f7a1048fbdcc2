#include "framework/distributed/launch/rank_output.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "framework/support/text/format_values.h"

namespace tenon::distributed {

std::string PrefixedLines::add(std::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, std::min(bytes.find('\n'), kMaxLineLength - begun_.size()));
    begun_ += piece;
    bytes.remove_prefix(piece.size());
    const bool is_ended = !bytes.empty() && bytes.front() == '\n';
    if (is_ended) bytes.remove_prefix(1);
    if (is_ended || begun_.size() == kMaxLineLength) {
      lines += prefix_ + begun_ + '\n';
      begun_.clear();
    }
  }
  return lines;
}

std::string PrefixedLines::finish() {
  if (begun_.empty()) return "";
  std::string line = prefix_ + begun_ + '\n';
  begun_.clear();
  return line;
}

void OutputBacklog::add(const std::string& lines) {
  if (is_closed_ || lines.empty()) return;
  if (waiting_.size() - written_ + lines.size() > kMaxBytes) {
    dropped_lines_ += static_cast<size_t>(std::count(lines.begin(), lines.end(), '\n'));
    return;
  }
  waiting_ += lines;
}

void OutputBacklog::write_some() {
  // For a pipe, poll() guarantees that PIPE_BUF bytes can be written. For a terminal or a file, it guarantees some
  // bytes.
  const std::string_view piece = std::string_view(waiting_).substr(written_, PIPE_BUF);
  // Writes whole lines if at least one fits, so that other writers do not interleave with a line.
  const size_t line_feed = piece.rfind('\n');
  const ssize_t length = write(descriptor_, piece.data(), line_feed == piece.npos ? piece.size() : line_feed + 1);
  if (length < 0 && (errno == EINTR || errno == EAGAIN)) return;
  is_closed_ = length < 0;
  if (length > 0) written_ += static_cast<size_t>(length);
  if (is_closed_ || is_empty()) {
    waiting_.clear();
    written_ = 0;
    report_dropped_lines();
  } else if (written_ > kMaxBytes / 4) {
    waiting_.erase(0, written_);
    written_ = 0;
  }
}

void OutputBacklog::report_dropped_lines() {
  if (dropped_lines_ == 0 || is_closed_) return;
  waiting_ = "(" + support::format_count(static_cast<int64_t>(dropped_lines_), "line was", "lines were") +
             " dropped here: the output is too slow)\n";
  dropped_lines_ = 0;
}

void OutputBacklog::write_rest(int patience_ms) {
  while (!is_empty()) {
    pollfd ready{descriptor_, POLLOUT, 0};
    const int count = poll(&ready, 1, patience_ms);
    if (count == 0) return;
    if (count > 0) write_some();
  }
}

}  // namespace tenon::distributed
