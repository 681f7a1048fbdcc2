// Divides tensors over the ranks.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::distributed {

// Returns the rank of each tensor, so that the ranks have about the same number of bytes: the largest tensor first,
// each to the rank with the fewest bytes so far. Equal arguments give equal ranks. REQUIRES: ranks >= 1.
std::vector<int64_t> assign_owners(const std::vector<int64_t>& bytes, int64_t ranks);

}  // namespace tenon::distributed
