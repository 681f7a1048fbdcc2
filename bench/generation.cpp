// Times greedy generation of the plugin gpt with its cache and without. bench/generation.py times the same network in
// PyTorch: benchmark_generation PLUGIN_FILE VOCABULARY CONTEXT LAYERS HEADS WIDTH NEW_TOKENS ROUNDS.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "framework/components/calls/host_table.h"
#include "framework/components/loading/catalogue.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/pipeline/generation/generate.h"

using namespace tenon;

namespace {

double time_generation(pipeline::Evaluation& evaluation, const pipeline::TokenPorts& ports, int64_t new_tokens) {
  const auto begin = std::chrono::steady_clock::now();
  pipeline::generate_greedily({evaluation, ports, {}, {}, {1}}, {new_tokens},
                              [](std::optional<int64_t>) { return true; });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 9) {
    std::fprintf(stderr, "expected PLUGIN_FILE VOCABULARY CONTEXT LAYERS HEADS WIDTH NEW_TOKENS ROUNDS\n");
    return 2;
  }
  torch::set_num_threads(1);
  const auto number = [&](int index) { return static_cast<int64_t>(std::stoll(arguments[index])); };
  components::install_libtorch();
  const auto catalogue =
      components::Catalogue::open({arguments[1]}, components::host_table(), components::torch_build());
  const auto plan = std::make_shared<config::RunPlan>();
  plan->model.use = "gpt";
  plan->model.params = {
      {"vocabulary_size", number(2)}, {"context", number(3)}, {"layers", number(4)}, {"heads", number(5)},
      {"width", number(6)},           {"dropout", 0.0},       {"bias", true}};
  pipeline::Evaluation evaluation{plan,
                                  components::Model(catalogue.find(config::ComponentKind::model, "gpt"), plan->model)};
  evaluation.model.build();
  const pipeline::TokenPorts with = pipeline::find_token_ports(evaluation.model, "the benchmark");
  pipeline::TokenPorts without = with;
  without.decoding.cache_count = 0;
  std::vector<double> cached, uncached;
  time_generation(evaluation, with, 2);
  for (int64_t round = 0; round < number(8); ++round) {
    cached.push_back(time_generation(evaluation, with, number(7)));
    uncached.push_back(time_generation(evaluation, without, number(7)));
  }
  const auto rate = [&](std::vector<double>& seconds) {
    std::ranges::nth_element(seconds, seconds.begin() + std::ssize(seconds) / 2);
    return static_cast<double>(number(7)) / seconds[seconds.size() / 2];
  };
  std::printf("with the cache %.0f tokens/s, without %.0f tokens/s\n", rate(cached), rate(uncached));
}
