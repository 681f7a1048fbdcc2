// Ranks for tests. They are forked from the test process, so that no program has to be started for each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/distributed/collectives/process_group.h"
#include "framework/distributed/launch/world.h"

namespace tenon::distributed {

// Runs `body` in `size` processes with their worlds and returns the results by rank. If a process throws, its result is
// "threw: " with the message. If it is killed or exits, the result is "ended: " with the reason. If only stopped
// processes remain, or if a process has not ended after two minutes, they are killed. REQUIRES: this process has not
// used LibTorch's threads yet, because a fork does not copy them.
std::vector<std::string> run_ranks(int64_t size, const std::function<std::string(const World&)>& body);

// Connects the ranks of run_ranks(). One rank is a single process.
inline std::unique_ptr<ProcessGroup> connect_ranks(const World& world) {
  return world.size > 1 ? std::make_unique<ProcessGroup>(world, config::DistributedSection{}, nullptr)
                        : std::make_unique<ProcessGroup>();
}

}  // namespace tenon::distributed
