// Measures the overlap of gradient all-reduce and backward: two processes, an MLP of 11 M parameters, and a timeline.
//
//   build/release/bin/benchmark_overlap TIMELINE.json
//
// Writes the operators and collectives of the last step of rank 0 in the format of chrome://tracing and
// ui.perfetto.dev. Prints the fraction of the all-reduce time that overlaps with the operators of backward.
#include <ATen/record_function.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/distributed/collectives/gradient_reducer.h"
#include "framework/distributed/launch/loopback_socket.h"

namespace {

using namespace tenon::distributed;
using Clock = std::chrono::steady_clock;

struct Interval {
  std::string name;
  uint64_t thread;
  double begin_us;
  double end_us;
};

std::mutex mutex;
std::vector<Interval> intervals;
const Clock::time_point origin = Clock::now();

double now_us() { return std::chrono::duration<double, std::micro>(Clock::now() - origin).count(); }

struct Begun : at::ObserverContext {
  double us = now_us();
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) { return std::make_unique<Begun>(); }

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  const std::lock_guard lock(mutex);
  intervals.push_back({function.name(), function.threadId(), static_cast<Begun*>(context)->us, now_us()});
}

bool is_collective(const Interval& interval) { return interval.name.find("all_reduce") != std::string::npos; }

void run_rank(const World& world, const char* timeline) {
  torch::set_num_threads(1);
  torch::manual_seed(0);
  ProcessGroup group(world, {}, nullptr);
  torch::nn::Sequential network;
  const std::vector<int64_t> sizes{512, 2048, 2048, 2816, 10};
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    network->push_back(torch::nn::Linear(sizes[i], sizes[i + 1]));
    network->push_back(torch::nn::ReLU());
  }
  std::vector<std::string> names;
  std::vector<at::Tensor> tensors;
  for (const auto& named : network->named_parameters()) {
    names.push_back(named.key());
    tensors.push_back(named.value());
  }
  {
    GradientReducer reducer(group, {}, names, tensors);
    for (int step = 0; step < 10; ++step) {
      for (const at::Tensor& tensor : tensors) at::Tensor(tensor).mutable_grad() = at::Tensor();
      reducer.prepare_forward();
      const at::Tensor total = network->forward(torch::rand({16, 512})).square().sum();
      reducer.expect_backward(total);
      if (step == 9) at::addGlobalCallback(at::RecordFunctionCallback(begin, end).needsIds(true));
      const double begin_us = now_us();
      total.backward();
      if (step == 9) intervals.push_back({"backward (training thread)", 0, begin_us, now_us()});
      reducer.finish_backward(nullptr);
    }
  }
  at::clearCallbacks();
  group.barrier();
  if (world.rank != 0) return;

  double last_operator_us = 0, all = 0, within = 0;
  nlohmann::json events = nlohmann::json::array();
  for (const Interval& interval : intervals) {
    events.push_back({{"name", interval.name},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", interval.thread},
                      {"ts", interval.begin_us},
                      {"dur", interval.end_us - interval.begin_us}});
    if (interval.name.find("Backward") != std::string::npos)
      last_operator_us = std::max(last_operator_us, interval.end_us);
  }
  for (const Interval& interval : intervals) {
    if (!is_collective(interval)) continue;
    all += interval.end_us - interval.begin_us;
    within += std::max(0.0, std::min(interval.end_us, last_operator_us) - interval.begin_us);
    std::printf("all-reduce from %8.0f to %8.0f us; the last backward operator ends at %8.0f us\n", interval.begin_us,
                interval.end_us, last_operator_us);
  }
  std::printf("%.0f %% of the all-reduce time overlaps with backward\n", all > 0 ? within / all * 100 : 0);
  std::ofstream(timeline) << nlohmann::json{{"traceEvents", events}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s TIMELINE.json\n", argv[0]);
    return 2;
  }
  const LoopbackSocket listener = listen_on_loopback();
  World world;
  world.size = world.local_size = 2;
  world.master_address = "127.0.0.1";
  world.master_port = listener.port;
  const pid_t other = fork();
  world.rank = world.local_rank = other == 0 ? 1 : 0;
  if (other != 0) world.listen_fd = listener.descriptor.number();
  run_rank(world, argv[1]);
  if (other == 0) return 0;
  int status = 0;
  waitpid(other, &status, 0);
  return status == 0 ? 0 : 1;
}
