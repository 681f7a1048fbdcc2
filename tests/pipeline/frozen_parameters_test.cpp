// Tests which parameters are frozen, and that a run resumes from checkpoints without them.
#include "framework/pipeline/state/frozen_parameters.h"

#include <torch/types.h>

#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::artifacts::ExcludedTensor;
using tenon::components::NamedTensor;

namespace {

const char* const kFrozen = "\n[[optimizer.group]]\nmatch = [\"layers.0.*\"]\nfrozen = true\n";

template <class Tensors>
std::vector<std::string> names_of(const Tensors& tensors) {
  std::vector<std::string> names;
  for (const auto& named : tensors) names.push_back(named.name);
  return names;
}

std::vector<std::string> find_frozen(const char* group) {
  const BuiltRun run({{}, group});
  return names_of(list_frozen_parameters(run.training->model, *run.training->optimizer));
}

using Names = std::vector<std::string>;
const Names kFirst{"layers.0.weight", "layers.0.bias"}, kSecond{"layers.1.weight", "layers.1.bias"};

// Returns the checkpoint without the frozen parameters of the run.
Checkpoint leave_out_frozen(const Checkpoint& checkpoint, const FrozenParameters& frozen) {
  std::vector<NamedTensor> tensors;
  for (const auto& named : checkpoint.model) tensors.push_back({named.name, named.tensor, true});
  Checkpoint result{{}, checkpoint.state, {"manifest.json", {}}};
  FrozenParameters copy = frozen;
  for (const NamedTensor& named : copy.exclude(tensors, result.excluded.tensors))
    result.model.push_back({named.name, named.tensor});
  return result;
}

// Trains a network. The group has its convolutions and batch norms.
Setup cnn_with(const std::string& group) {
  return {{"model={use=\"small_cnn\",params={width=4}}", "data.train.subset=\"10%\"", "data.validation.subset=\"20%\"",
           "train.epochs=2", "checkpoint.every=\"1 epoch\"", "data.workers=0"},
          "\n[[optimizer.group]]\nmatch = [\"features.*\"]\n" + group};
}

std::map<std::string, at::Tensor> copy_statistics(const BuiltRun& run) {
  std::map<std::string, at::Tensor> statistics;
  for (const NamedTensor& named : run.training->model.tensors())
    if (named.name.find(".running_") != std::string::npos) statistics[named.name] = named.tensor.clone();
  REQUIRE(!statistics.empty());
  return statistics;
}

// Returns whether all statistics of the checkpoint equal these.
bool has_statistics(const Checkpoint& checkpoint, const std::map<std::string, at::Tensor>& statistics) {
  size_t equal = 0;
  for (const auto& named : checkpoint.model)
    if (const auto found = statistics.find(named.name); found != statistics.end())
      equal += torch::equal(found->second, named.tensor);
  return equal == statistics.size();
}

}  // namespace

TEST_CASE("parameters are frozen if [[optimizer.group]] freezes them for the whole run") {
  CHECK(find_frozen(kFrozen) == kFirst);
  CHECK(find_frozen("\n[[optimizer.group]]\nmatch = [\"layers.0.*\"]\nfrozen_epochs = 100\n").empty());
  CHECK(find_frozen("").empty());
}

TEST_CASE("frozen parameters are left out, unless they change") {
  const BuiltRun run({{}, kFrozen});
  FrozenParameters frozen(run.training->model, *run.training->optimizer);
  CHECK(frozen.count() == 2);
  std::vector<ExcludedTensor> excluded;
  CHECK(names_of(frozen.exclude(run.training->model.tensors(), excluded)) == kSecond);
  CHECK(names_of(excluded) == kFirst);

  const tenon::components::NamedTensor& bias = run.training->model.tensors()[1];
  REQUIRE(bias.name == "layers.0.bias");
  const at::NoGradGuard no_grad;
  at::Tensor(bias.tensor)[0] += 1;
  excluded.clear();
  CHECK(names_of(frozen.exclude(run.training->model.tensors(), excluded)) ==
        Names{"layers.0.bias", "layers.1.weight", "layers.1.bias"});
  CHECK(names_of(excluded) == Names{"layers.0.weight"});
}

TEST_CASE("a run resumes bit for bit from a checkpoint without frozen parameters, also with averaged weights") {
  for (const char* average : {"", "\n[train.average]\nuse = \"ema\"\ndecay = 0.9\n"}) {
    CAPTURE(average);
    const Setup setup{{"run.deterministic=true", "data.train.subset=\"10%\"", "data.validation.subset=\"20%\"",
                       "train.epochs=3", "checkpoint.every=\"1 epoch\"", "data.workers=0"},
                      std::string(kFrozen) + average};
    BuiltRun whole(setup);
    const FrozenParameters frozen(whole.training->model, *whole.training->optimizer);
    whole.train();
    for (const auto& [name, tensor] : whole.recorder.checkpoints[0].state.tensors)
      CHECK_FALSE(name.starts_with("weights.layers.0"));
    const Checkpoint checkpoint = leave_out_frozen(whole.recorder.checkpoints[0], frozen);
    CHECK(names_of(checkpoint.model) == kSecond);
    CHECK(names_of(checkpoint.excluded.tensors) == kFirst);
    BuiltRun end(setup);
    end.train({}, 0, &checkpoint);
    check_same_weights(whole, end);
  }
}

TEST_CASE("other initial weights than those of the run are refused with what they come from") {
  const Setup setup{{"train.epochs=1"}, kFrozen};
  BuiltRun whole(setup);
  const FrozenParameters frozen(whole.training->model, *whole.training->optimizer);
  whole.train();
  const Checkpoint checkpoint = leave_out_frozen(whole.recorder.checkpoints.back(), frozen);
  BuiltRun other({{"train.epochs=2", "run.seed=5"}, kFrozen});
  const std::string message =
      tenon::find_error(tenon::support::ErrorKind::checkpoint, [&] { other.train({}, 0, &checkpoint); });
  CAPTURE(message);
  CHECK(
      message.starts_with("manifest.json: the checkpoint leaves out the frozen parameter layers.0.weight, and the "
                          "initial one, from run.seed (model.weights is not set), has the XXH128 "));
}

TEST_CASE("frozen batch norms update their statistics, unless they run in evaluation mode") {
  for (const bool is_in_evaluation : {false, true}) {
    CAPTURE(is_in_evaluation);
    BuiltRun run(cnn_with(is_in_evaluation ? "frozen = true\neval_batch_norm = true" : "frozen = true"));
    CHECK((run.training->frozen_statistics != nullptr) == is_in_evaluation);
    const auto initial = copy_statistics(run);
    run.train();
    REQUIRE(run.recorder.checkpoints.size() == 2);
    for (const Checkpoint& checkpoint : run.recorder.checkpoints)
      CHECK(has_statistics(checkpoint, initial) == is_in_evaluation);
  }
}

TEST_CASE("batch norms that are frozen for some epochs update their statistics afterwards") {
  BuiltRun run(cnn_with("frozen_epochs = 1\neval_batch_norm = true"));
  const auto initial = copy_statistics(run);
  run.train();
  REQUIRE(run.recorder.checkpoints.size() == 2);
  CHECK(has_statistics(run.recorder.checkpoints[0], initial));
  CHECK_FALSE(has_statistics(run.recorder.checkpoints[1], initial));
}

TEST_CASE("a run without frozen batch norms after one with them updates its statistics") {
  { BuiltRun run(cnn_with("frozen = true\neval_batch_norm = true")); }
  BuiltRun run(cnn_with("frozen = true"));
  const auto initial = copy_statistics(run);
  run.train();
  CHECK_FALSE(has_statistics(run.recorder.checkpoints.back(), initial));
}

TEST_CASE("groups without batch norms, and statistics that change nevertheless, are refused") {
  CHECK_THROWS_WITH_AS(BuiltRun({{},
                                 "\n[[optimizer.group]]\nmatch = [\"layers.0.*\"]\nfrozen = true\n"
                                 "eval_batch_norm = true\n"}),
                       doctest::Contains("optimizer.group.0.eval_batch_norm is true, but the group has no weights of a "
                                         "batch norm with running statistics"),
                       tenon::support::Error);
  const BuiltRun run(cnn_with("frozen = true\neval_batch_norm = true"));
  for (const NamedTensor& named : run.training->model.tensors())
    if (named.name.ends_with(".running_mean")) at::Tensor(named.tensor).add_(1);
  CHECK_THROWS_WITH_AS(run.training->frozen_statistics->check_once(),
                       doctest::Contains("the first step changed features."), tenon::support::Error);
  run.training->frozen_statistics->check_once();  // only once
}
