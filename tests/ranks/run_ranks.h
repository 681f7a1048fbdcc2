// Ranks for tests: forked from the test's own process, so that no program has to be started for each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/distributed/world.h"

namespace tenon::distributed {

// Runs `body` in `size` processes that know each other's places, and returns what each gave: by rank. One that threw
// gives "threw: " and the message, one that was ended "ended: " and how. REQUIRES: this process has not used LibTorch's
// threads yet, which a fork would leave behind.
std::vector<std::string> run_ranks(int64_t size, const std::function<std::string(const World&)>& body);

}  // namespace tenon::distributed
