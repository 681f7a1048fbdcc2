// Tests which parameters are frozen, and that a run resumes from checkpoints without them.
#include "framework/pipeline/state/frozen_parameters.h"

#include "framework/support/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::artifacts::ExcludedTensor;
using tenon::plugins::NamedTensor;

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

  const tenon::plugins::NamedTensor& bias = run.training->model.tensors()[1];
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
    for (const auto& [name, tensor] : whole.recorder.weights) {
      CAPTURE(name);
      CHECK(tensor.equal(end.recorder.weights.at(name)));
    }
  }
}

TEST_CASE("averaged weights of the first versions, which have frozen parameters, are restored") {
  const Setup setup{{"train.epochs=1"}, std::string(kFrozen) + "\n[train.average]\nuse = \"ema\"\n"};
  BuiltRun run(setup);
  run.train();
  Checkpoint checkpoint = run.recorder.checkpoints.back();
  const at::Tensor trained = at::rand({16});
  checkpoint.state.tensors["weights.layers.0.bias"] = trained;
  checkpoint.state.tensors["weights.layers.0.weight"] = at::rand({16, 64});
  BuiltRun next({{"train.epochs=2"}, setup.more});
  next.train({}, 0, &checkpoint);
  CHECK(next.recorder.weights.at("layers.0.bias").equal(trained));
}

TEST_CASE("other initial weights than those of the run are refused with what they come from") {
  const Setup setup{{"train.epochs=1"}, kFrozen};
  BuiltRun whole(setup);
  const FrozenParameters frozen(whole.training->model, *whole.training->optimizer);
  whole.train();
  const Checkpoint checkpoint = leave_out_frozen(whole.recorder.checkpoints.back(), frozen);
  BuiltRun other({{"train.epochs=2", "run.seed=5"}, kFrozen});
  try {
    other.train({}, 0, &checkpoint);
    FAIL("accepted");
  } catch (const tenon::support::Error& error) {
    const std::string message = error.what();
    CAPTURE(message);
    CHECK(error.kind() == tenon::support::ErrorKind::checkpoint);
    CHECK(
        message.starts_with("manifest.json: the checkpoint leaves out the frozen parameter layers.0.weight, and the "
                            "initial one, from run.seed (model.weights is not set), has the XXH128 "));
  }
}
