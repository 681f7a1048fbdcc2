#include "framework/distributed/collectives/assign_owners.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "framework/support/diagnostics/check.h"

namespace tenon::distributed {

std::vector<int64_t> assign_owners(const std::vector<int64_t>& bytes, int64_t ranks) {
  TENON_CHECK(ranks >= 1, ranks << " ranks");
  std::vector<size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return bytes[i]; });
  std::vector<int64_t> loads(static_cast<size_t>(ranks), 0), owners(bytes.size(), 0);
  for (const size_t i : order) {
    const auto least = std::ranges::min_element(loads);  // the lowest rank among equals
    owners[i] = least - loads.begin();
    *least += bytes[i];
  }
  return owners;
}

}  // namespace tenon::distributed
