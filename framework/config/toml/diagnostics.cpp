#include "framework/config/toml/diagnostics.h"

#include <algorithm>
#include <tuple>

#include "framework/formats/strings.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::config {

void Diagnostics::throw_if_any() const {
  if (entries_.empty()) return;
  auto ordered = entries_;
  std::ranges::stable_sort(ordered, [](const auto& left, const auto& right) { return left.first < right.first; });
  const std::string message = formats::join(
      ordered, "\n", [](const auto& entry) { return fmt::format("{}: {}", to_string(entry.first), entry.second); });
  throw support::Error(support::ErrorKind::configuration, message);
}

std::string to_string(const SourceLocation& place) {
  return place.line == 0 ? place.source : fmt::format("{}:{}:{}", place.source, place.line, place.column);
}

bool operator<(const SourceLocation& left, const SourceLocation& right) {
  return std::make_tuple(left.line == 0, left.line, left.column) <
         std::make_tuple(right.line == 0, right.line, right.column);
}

}  // namespace tenon::config
