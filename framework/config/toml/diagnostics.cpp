#include "framework/config/toml/diagnostics.h"

#include <algorithm>

#include "framework/support/diagnostics/error.h"

namespace tenon::config {

void Diagnostics::throw_if_any() const {
  if (entries_.empty()) return;
  auto ordered = entries_;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  std::string message;
  for (const auto& [place, what] : ordered) {
    if (!message.empty()) message += '\n';
    message += to_string(place) + ": " + what;
  }
  throw support::Error(support::ErrorKind::configuration, message);
}

}  // namespace tenon::config
