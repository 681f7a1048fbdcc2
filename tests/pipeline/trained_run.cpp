#include "tests/pipeline/trained_run.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "framework/callbacks/make_observers.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/config/file/read_run_config.h"
#include "framework/config/resolve/resolve_run_plan.h"
#include "framework/pipeline/build/model_summary.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace tenon::pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRunFile = R"([model]
use = "mlp"
params = { hidden = [16] }
[data]
batch_size = 400
[data.train]
use = "digits"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[train]
epochs = 2
[optimizer]
use = "sgd"
lr = 0.1
)";

components::Catalogue open_plugins() {
  components::install_libtorch();
  const fs::path built = tenon::build_folder();
  std::vector<fs::path> directories{built / "plugins"};
  for (const char* fixture :
       {"counting", "doubles", "event_recorder", "log_values", "miscaptured", "noise", "poisoned", "reporting",
        "segmented", "sentences", "stopping", "sum_over_class", "torn", "two_parts", "undeclared"})
    directories.push_back(built / "tests/fixtures/plugins" / fixture);
  return components::Catalogue::open(directories, components::host_table(), components::torch_build());
}

}  // namespace

double RecordedLine::at(const std::string& name) const {
  for (const auto& [known, value] : metrics)
    if (known == name) return value;
  FAIL("there is no metric " << name);
  return 0;
}

void MemoryRecorder::append_line(LineKind kind, const RunState& state,
                                 const std::vector<std::pair<std::string, double>>& metrics) {
  RecordedLine& line = lines.emplace_back(RecordedLine{kind, state.epoch, state.step, {}});
  for (const auto& metric : metrics) (is_step_time(metric.first) ? step_times : line.metrics).push_back(metric);
}

void MemoryRecorder::start_checkpoint(const RunState& state, std::span<const components::NamedTensor> tensors,
                                      const SavedState& saved) {
  const auto loss = state.metrics.find("validation/loss");
  if (state.validated_step == state.step && loss != state.metrics.end())
    validation_losses[checkpoints.size()] = loss->second;
  checkpoint_steps.push_back(state.step);
  Checkpoint& checkpoint = checkpoints.emplace_back(Checkpoint{{}, saved});
  for (const components::NamedTensor& named : tensors) {
    weights[named.name] = named.tensor.detach().clone();
    checkpoint.model.push_back({named.name, weights[named.name]});
  }
  for (auto& [name, tensor] : checkpoint.state.tensors) tensor = tensor.detach().clone();
}

BestCheckpoint MemoryRecorder::read_best_checkpoint() {
  REQUIRE(!validation_losses.empty());
  const auto by_value = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [index, loss] = *std::ranges::min_element(validation_losses, by_value);
  BestCheckpoint best{checkpoint_steps[index], checkpoints[index].model, {{"validation/loss", loss}}};
  best.epoch = checkpoints[index].state.count("epoch");
  return best;
}

std::vector<RecordedLine> MemoryRecorder::of_kind(LineKind kind) const {
  std::vector<RecordedLine> found;
  for (const RecordedLine& line : lines)
    if (line.kind == kind) found.push_back(line);
  return found;
}

BuiltRun::BuiltRun(const Setup& setup, distributed::ProcessGroup& group) {
  // The ranks of a run are processes of the same test.
  const fs::path folder = tenon::test_folder() / std::to_string(getpid());
  fs::create_directories(folder);
  const fs::path file = folder / "run.toml";
  std::ofstream(file) << kRunFile << setup.more;
  catalogue = std::make_unique<components::Catalogue>(open_plugins());
  plan = std::make_unique<config::RunPlan>(
      config::resolve_run_plan(config::read_run_config(file, setup.overrides), *catalogue));
  fs::remove_all(folder);
  training = std::make_unique<Training>(build_training(*plan, *catalogue, setup.device, group));
}

RunReport BuiltRun::train(const std::vector<Observer*>& observers, int signal, const Checkpoint* resumed) {
  const ModelTensors tensors(training->model);
  const auto description = callbacks::describe_run(*plan, "", false);
  const auto callbacks = callbacks::make_observers(training->callbacks, plan->callbacks, &tensors, description.get());
  std::vector<Observer*> all = observers;
  for (const auto& callback : callbacks) all.push_back(callback.get());
  const std::atomic<int> stop_signal{signal};
  return pipeline::train(*training, all, recorder, {stop_signal, save_signal},
                         resumed ? std::optional(*resumed) : std::nullopt);
}

std::string refusal_of(const Setup& setup) {
  return find_error(support::ErrorKind::configuration, [&] { const BuiltRun run(setup); });
}

std::string error_of_training(support::ErrorKind kind, const Setup& setup) {
  return find_error(kind, [&] { BuiltRun(setup).train(); });
}

std::vector<std::string> join_settings(std::vector<std::string> first, const std::vector<std::string>& others) {
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

void check_same_weights(const BuiltRun& run, const BuiltRun& other) {
  const auto& weights = run.recorder.weights;
  REQUIRE_FALSE(weights.empty());
  REQUIRE(weights.size() == other.recorder.weights.size());
  for (const auto& weight : weights) {
    CAPTURE(weight.first);
    CHECK(torch::equal(weight.second, other.recorder.weights.at(weight.first)));
  }
}

}  // namespace tenon::pipeline
