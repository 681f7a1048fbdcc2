#include "framework/config/toml/source_location.h"

#include <tuple>

namespace tenon::config {

std::string to_string(const SourceLocation& place) {
  if (place.line == 0) return place.source;
  return place.source + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

bool operator<(const SourceLocation& left, const SourceLocation& right) {
  return std::make_tuple(left.line == 0, left.line, left.column) <
         std::make_tuple(right.line == 0, right.line, right.column);
}

}  // namespace tenon::config
