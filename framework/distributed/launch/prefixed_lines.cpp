#include "framework/distributed/launch/prefixed_lines.h"

#include <algorithm>

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

}  // namespace tenon::distributed
