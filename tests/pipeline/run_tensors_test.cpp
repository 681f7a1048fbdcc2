// Tests the tensors that callbacks see of a run.
#include <tenon/run_tensors.h>

#include <cmath>
#include <limits>
#include <map>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/run_view.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/build/model_summary.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::components::to_handle;

namespace {

const tenon_run_tensors& extension() {
  tenon::components::host_table();
  const void* found = tenon::components::host_table().get_extension(TENON_STRING(TENON_RUN_TENSORS));
  REQUIRE(found);
  return *static_cast<const tenon_run_tensors*>(found);
}

// The run of trained_run.h: four steps per epoch, two epochs, sgd with a learning rate of 0.1.
BuiltRun make_run(const std::string& callback) { return BuiltRun({{}, "[[callback]]\n" + callback}); }

// The metrics of all lines of the history that have this one.
std::vector<std::map<std::string, double>> lines_with(const BuiltRun& run, const std::string& name) {
  std::vector<std::map<std::string, double>> found;
  for (const RecordedLine& line : run.recorder.lines) {
    const std::map<std::string, double> metrics(line.metrics.begin(), line.metrics.end());
    if (metrics.contains(name)) found.push_back(metrics);
  }
  return found;
}

}  // namespace

TEST_CASE("statistics of several tensors are computed in one call") {
  const BuiltRun run{Setup{}};  // installs LibTorch
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const at::Tensor plain = at::tensor({3.0f, 0.0f, -4.0f, 0.0f});
  const at::Tensor half = at::full({300, 300}, 8, at::kHalf);  // its sum of squares overflows in float16
  const at::Tensor wild = at::tensor({1.0f, kInfinity, -kInfinity});
  const at::Tensor none = at::empty({0, 3});
  tenon_tensor* const tensors[] = {to_handle(plain), to_handle(half), to_handle(wild), to_handle(none)};
  double values[4][5];
  const uint32_t all = TENON_STATISTIC_NORM | TENON_STATISTIC_MEAN | TENON_STATISTIC_ABS_MAX |
                       TENON_STATISTIC_ZERO_SHARE | TENON_STATISTIC_NON_FINITE;
  REQUIRE(extension().statistics(tensors, nullptr, 4, all, values[0]) == TENON_OK);
  CHECK(values[0][0] == doctest::Approx(5));
  CHECK(values[0][1] == doctest::Approx(-0.25));
  CHECK(values[0][2] == 4);
  CHECK(values[0][3] == 0.5);
  CHECK(values[0][4] == 0);
  CHECK(values[1][0] == doctest::Approx(2400));
  CHECK(values[1][1] == doctest::Approx(8));
  CHECK(std::isinf(values[2][0]));
  CHECK(std::isnan(values[2][1]));
  CHECK(values[2][4] == 2);
  CHECK(values[3][0] == 0);
  CHECK(std::isnan(values[3][1]));
  CHECK(values[3][2] == 0);
  CHECK(std::isnan(values[3][3]));
}

TEST_CASE("statistics may be of a difference, and of a copy kept before a change") {
  const BuiltRun run{Setup{}};
  at::Tensor value = at::tensor({1.0f, 2.0f}).requires_grad_(true);
  tenon_tensor* before = nullptr;
  REQUIRE(extension().copy(to_handle(value), &before) == TENON_OK);
  {
    const at::NoGradGuard no_grad;
    value.add_(at::tensor({3.0f, -4.0f}));
  }
  tenon_tensor* const tensors[] = {to_handle(value), before};
  tenon_tensor* const minus[] = {before, nullptr};
  double norms[2];
  REQUIRE(extension().statistics(tensors, minus, 2, TENON_STATISTIC_NORM, norms) == TENON_OK);
  CHECK(norms[0] == doctest::Approx(5));
  CHECK(norms[1] == doctest::Approx(std::sqrt(5)));
  tenon::components::host_table().release(before);
}

TEST_CASE("unknown statistics, and tensors outside a run, are refused") {
  const BuiltRun run{Setup{}};
  double value = 0;
  const at::Tensor tensor = at::ones({2});
  tenon_tensor* const tensors[] = {to_handle(tensor), nullptr};
  CHECK(extension().statistics(tensors, nullptr, 1, 0, &value) == TENON_INVALID_ARGUMENT);
  CHECK(extension().statistics(tensors, nullptr, 1, 1u << 9, &value) == TENON_INVALID_ARGUMENT);
  CHECK(extension().statistics(tensors, nullptr, 2, TENON_STATISTIC_NORM, &value) == TENON_INVALID_ARGUMENT);
  const tenon::components::RunView view;
  uint64_t count = 0;
  CHECK(extension().count(&view.base, &count) == TENON_UNSUPPORTED);
}

TEST_CASE("trainable tensors have the model's names, are listed once, and show current gradients") {
  const BuiltRun run{Setup{}};
  const ModelTensors tensors(run.training->model);
  REQUIRE(tensors.size() == 4);
  CHECK(tensors.name(0) == "layers.0.weight");
  CHECK(tensors.gradient(0) == nullptr);
  const at::Tensor value = tenon::components::to_tensor(tensors.value(0));
  CHECK(value.sizes() == at::IntArrayRef({16, 64}));
  value.sum().backward();
  CHECK(tensors.gradient(0) == to_handle(value.grad()));
}

TEST_CASE("gradient and weight statistics agree: a step of sgd is the learning rate times the gradient") {
  BuiltRun run({{},
                "[[callback]]\nuse = \"gradient_statistics\"\nparams = { every = 3, statistics = [\"norm\", "
                "\"abs_max\"] }\n[[callback]]\nuse = \"weight_statistics\"\nparams = { every = 1 }\n"});
  run.train();
  const auto weights = lines_with(run, "weights/norm");
  const auto gradients = lines_with(run, "gradients/norm");
  REQUIRE(weights.size() == 8);
  REQUIRE(gradients.size() == 2);  // of steps 3 and 6
  double squares = 0;
  for (const char* name : {"layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"}) {
    CAPTURE(name);
    const double norm = gradients[0].at(std::string("gradients/norm/") + name);
    CHECK(norm > 0);
    CHECK(gradients[0].at(std::string("gradients/abs_max/") + name) <= norm);
    squares += norm * norm;
    // The weights before step 3 are those after step 2.
    const double before = weights[1].at(std::string("weights/norm/") + name);
    CHECK(weights[2].at(std::string("weights/update_ratio/") + name) ==
          doctest::Approx(0.1 * norm / before).epsilon(1e-4));
  }
  CHECK(gradients[0].at("gradients/norm") == doctest::Approx(std::sqrt(squares)));
  const at::Tensor last = run.recorder.weights.at("layers.1.weight");
  CHECK(weights[7].at("weights/norm/layers.1.weight") == doctest::Approx(last.norm().item<double>()));
}

TEST_CASE("a pattern selects parameters, and one that matches none is refused before training") {
  BuiltRun run =
      make_run("use = \"gradient_statistics\"\nparams = { every = 4, parameters = [\"*.0.*\", \"layers.?.bias\"] }\n");
  run.train();
  const auto lines = lines_with(run, "gradients/norm");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].contains("gradients/norm/layers.0.weight"));
  CHECK(lines[0].contains("gradients/norm/layers.1.bias"));
  CHECK_FALSE(lines[0].contains("gradients/norm/layers.1.weight"));
  BuiltRun wrong = make_run("use = \"gradient_statistics\"\nparams = { parameters = [\"layer.*\"] }\n");
  CHECK_THROWS_WITH(
      wrong.train(),
      doctest::Contains("params.parameters has \"layer.*\", which matches no parameter of the model; expected "
                        "a pattern for some of layers.0.weight, layers.0.bias"));
}

TEST_CASE("throughput counts every sample that was trained on") {
  BuiltRun run({{"log.every=\"1 epoch\""}, "[[callback]]\nuse = \"throughput\"\n"});
  run.train();
  const auto lines = lines_with(run, "throughput/samples_per_s");
  REQUIRE(lines.size() == 2);
  for (const auto& line : lines) {
    const double ratio = line.at("throughput/samples_per_s") / line.at("throughput/steps_per_s");
    CHECK(ratio == doctest::Approx(1438.0 / 4));
    CHECK(line.at("throughput/step_ms_p95") >= line.at("throughput/step_ms_median"));
  }
}

TEST_CASE("time_limit ends a run regularly, with a checkpoint of its last step") {
  BuiltRun run = make_run("use = \"time_limit\"\nparams = { budget = \"1e-9 seconds\" }\n");
  const RunReport report = run.train();
  CHECK(report.end == RunReport::End::stopped);
  CHECK(report.reason.find("time_limit: 0 s of 1e-9 seconds are left") == 0);
  CHECK(report.state.step == 1);
  // The second checkpoint has the metrics of its validation.
  CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{1, 1});
}

TEST_CASE("best_checkpoints saves the best steps without other checkpoints") {
  BuiltRun run({{"checkpoint.every=\"never\"", "validation.every=\"1 steps\"", "train={steps=4}"},
                "[[callback]]\nuse = \"best_checkpoints\"\nparams = { top = 4 }\n"});
  run.train();
  CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{1, 2, 3, 4});
}

TEST_CASE("a filter in the run file selects the events that a callback receives") {
  BuiltRun run = make_run(
      "use = \"gradient_statistics\"\nparams = { every = 1 }\nevery = \"3 steps\"\nafter = \"3 steps\"\nonce = true\n");
  run.train();
  const auto lines = lines_with(run, "gradients/norm");
  REQUIRE(lines.size() == 1);
  for (const RecordedLine& line : run.recorder.lines)
    if (line.kind == LineKind::step)
      for (const auto& [name, value] : line.metrics)
        if (name == "gradients/norm") CHECK(line.step == 6);
}
