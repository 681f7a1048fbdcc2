// Ranks for tests. They are forked from the test process, so that no program has to be started for each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/distributed/collectives/process_group.h"
#include "framework/distributed/launch/world.h"

namespace tenon::distributed {

// The same result of each rank.
inline std::vector<std::string> all(size_t size, const std::string& text) {
  return std::vector<std::string>(size, text);
}

std::string digest(const at::Tensor& tensor);

// Runs `body` in `size` processes with their worlds and returns the results by rank. If a process throws, its result is
// "threw: " with the message. If it is killed or exits, the result is "ended: " with the reason. If only stopped
// processes remain, or if a process has not ended after two minutes, they are killed. REQUIRES: this process has not
// used LibTorch's threads yet, because a fork does not copy them.
std::vector<std::string> run_ranks(int64_t size, const std::function<std::string(const World&)>& body);

// The same with a process group of the ranks, which ends with a barrier. LibTorch computes on one thread.
std::vector<std::string> run_in_group(int64_t size, const config::DistributedSection& plan,
                                      const std::function<std::string(ProcessGroup&)>& body);

// The same. One rank is a single process, and the other ranks end with the error of one.
std::vector<std::string> run_connected(int64_t size, const std::function<std::string(ProcessGroup&)>& body);

}  // namespace tenon::distributed
