// Compares the whole pipeline on a CUDA device with the CPU: metrics and weights must agree.
#include <torch/types.h>

#include <cmath>

#include "framework/pipeline/evaluate.h"
#include "framework/pipeline/overfit.h"
#include "framework/pipeline/predict.h"
#include "tests/cuda/tested_device.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

namespace tenon::pipeline {
namespace {

// The simulated device uses the CPU's kernels, but some operators have another implementation on CUDA and round
// differently, above all convolutions. A sample between two classes may then be classified differently.
constexpr double kTolerance = 1e-3;
constexpr double kConvolutionTolerance = 2e-2;

// Returns nothing if the machine has no device. Each test then prints one message.
std::optional<support::ComputeDevice> find_device() {
  const auto device = tests::tested_device();
  if (!device) MESSAGE("skipped, no CUDA device: " << tests::no_device());
  return device;
}

struct Trained {
  std::map<std::string, at::Tensor> weights;
  std::vector<RecordedLine> lines;
  RunReport report;
};

Trained train(Setup setup, const support::ComputeDevice& device) {
  setup.device = device;
  BuiltRun run(setup);
  Trained trained;
  trained.report = run.train();
  trained.lines = run.recorder.lines;
  for (const auto& [name, tensor] : run.recorder.weights) {
    CHECK(tensor.device().is_cuda() == device.is_cuda());
    trained.weights[name] = tensor.cpu();
  }
  return trained;
}

void check_alike(const Trained& on_device, const Trained& on_cpu, double tolerance) {
  REQUIRE(on_device.lines.size() == on_cpu.lines.size());
  for (size_t i = 0; i < on_cpu.lines.size(); ++i) {
    CHECK(on_device.lines[i].step == on_cpu.lines[i].step);
    for (const auto& [name, value] : on_cpu.lines[i].metrics) {
      CAPTURE(name);
      CHECK(on_device.lines[i].at(name) == doctest::Approx(value).epsilon(tolerance));
    }
  }
  double distance = 0, size = 0;  // squared norms
  for (const auto& [name, tensor] : on_cpu.weights) {
    const at::Tensor expected = tensor.to(at::kDouble);
    distance += (on_device.weights.at(name).to(at::kDouble) - expected).square().sum().item<double>();
    size += expected.square().sum().item<double>();
  }
  CHECK(std::sqrt(distance / size) <= tolerance);
}

void check_alike(const Setup& setup, double tolerance = kTolerance) {
  if (const auto device = find_device()) check_alike(train(setup, *device), train(setup, {}), tolerance);
}

const std::string kShort = "train={steps=20}";

// Counts the synchronisations with the device at the end of each step and at each log line.
struct Waits final : Observer {
  bool subscribes(Event event) const override { return event == Event::log || event == Event::step_end; }
  void on_event(Event event, const RunState&, CallbackRequests&) override {
    (event == Event::log ? at_logs : at_steps).push_back(tests::device_waits());
  }
  std::vector<int64_t> at_steps, at_logs;
};

}  // namespace

TEST_CASE("a run on a device learns the same as on the CPU") {
  check_alike({{kShort}});
  check_alike({{kShort, "optimizer={use=\"adamw\",lr=0.01}"}});
  // Only a few steps: later the gradients of this network are small and rounding errors dominate.
  check_alike({{"train={steps=5}", "model={use=\"small_cnn\"}"}}, kConvolutionTolerance);
}

TEST_CASE("clipping, accumulation and averages are the same on a device") {
  check_alike({{"train={steps=9,accumulate=3,clip_norm=0.1}", "data.batch_size=50"}});
  check_alike({{"train={steps=9,clip_value=0.01,average={use=\"ema\",decay=0.9}}"}});
  check_alike({{"train={steps=9,memory_format=\"channels_last\"}", "model={use=\"small_cnn\"}"}},
              kConvolutionTolerance);
}

TEST_CASE("every optimizer keeps its state on the device") {
  for (const char* use : {"\"sgd\",momentum=0.9", "\"adam\"", "\"rmsprop\"", "\"adagrad\"", "\"lion\"", "\"muon\""}) {
    CAPTURE(use);
    check_alike({{"train={steps=6}", "optimizer={lr=0.01,use=" + std::string(use) + "}"}});
  }
}

TEST_CASE("autocast and the loss scale are those of the device") {
  for (const char* precision : {"bf16", "fp16", "bf16_true"}) {
    CAPTURE(precision);
    check_alike({{"train={steps=12,precision=\"" + std::string(precision) + "\"}"}}, 5e-2);
  }
}

TEST_CASE("the memory of the device is a training metric") {
  const auto device = find_device();
  if (!device) return;
  const Trained on_device = train({{kShort}}, *device);
  for (const RecordedLine& line : on_device.lines) {
    const bool is_training = line.kind == LineKind::step || line.kind == LineKind::epoch;
    if (is_training) CHECK(line.at("train/device_memory_mib") > 0.1);
  }
}

TEST_CASE("batches are transformed on the device") {
  check_alike({{kShort, "loss=[{use='soft_cross_entropy', inputs={target='data.mixed_label'}}]"},
               "[[data.batch_transform]]\nuse = \"mix\"\nclasses = 10\n"});
}

TEST_CASE("the host never synchronises with the device between two log lines") {
  const auto device = find_device();
  if (!device) return;
  for (const char* train : {"train={steps=14}", "train={steps=14,clip_norm=0.1,average={use=\"ema\"}}",
                            "train={steps=14,accumulate=2}", "train={steps=14,precision=\"bf16\"}"}) {
    CAPTURE(train);
    // 14 steps are less than an epoch. At the end of an epoch the host also synchronises.
    Setup setup{{train, "log.every=\"3 steps\"", "data.batch_size=50", "validation.every=\"never\"",
                 "checkpoint.every=\"never\"", "optimizer={use=\"adamw\",lr=0.01}"}};
    setup.device = *device;
    BuiltRun run(setup);
    Waits waits;
    run.train({&waits});
    REQUIRE(waits.at_steps.size() == 14);
    // Steps end at 0, 1, 2 | 3, 4, 5 | ... There must be no synchronisation within a group.
    for (size_t step = 0; step + 1 < waits.at_steps.size(); ++step) {
      CAPTURE(step);
      if (step % 3 != 2) CHECK(waits.at_steps[step + 1] == waits.at_steps[step]);
    }
  }
}

TEST_CASE("the fields of a batch, the model and its outputs are on the device; metric values are on the CPU") {
  const auto cuda = find_device();
  if (!cuda) return;
  Setup setup{{"model={use=\"small_cnn\"}"}};
  std::vector<std::vector<std::pair<std::string, double>>> metrics;
  for (const support::ComputeDevice& device : {support::ComputeDevice{}, *cuda}) {
    setup.device = device;
    BuiltRun run(setup);
    Training& training = *run.training;
    for (const plugins::NamedTensor& named : training.model.tensors())
      CHECK(named.tensor.device().is_cuda() == device.is_cuda());
    const plugins::StepContext context{false, 0, 0, 0, 1, 0};
    int64_t samples = 0;
    predict(training, *training.validation.front(), context, [&](const Prediction& prediction) {
      for (const at::Tensor& field : prediction.batch_tensors.fields)
        CHECK(field.device().is_cuda() == device.is_cuda());
      for (const at::Tensor& output : prediction.batch_tensors.outputs)
        CHECK(output.device().is_cuda() == device.is_cuda());
      samples += static_cast<int64_t>(prediction.indices.size());
      return true;
    });
    CHECK(samples == training.validation.front()->feed.sampler().size());
    metrics.push_back(evaluate(training, *training.validation.front(), context, [](int64_t) { return true; }).value());
  }
  REQUIRE(metrics[0].size() == metrics[1].size());
  for (size_t i = 0; i < metrics[0].size(); ++i) {
    CHECK(metrics[1][i].first == metrics[0][i].first);
    CHECK(metrics[1][i].second == doctest::Approx(metrics[0][i].second).epsilon(kTolerance));
  }
}

TEST_CASE("in fp16 a step that overflows is skipped, the loss scale is halved, and training continues") {
  const auto device = find_device();
  if (!device) return;
  Setup setup{{"train={steps=10,precision=\"fp16\"}", "data.batch_size=100", "log.every=\"1 step\""},
              "[[loss]]\nuse = \"poisoned\"\nparams = { nan_gradients = [4] }\n"};
  const Trained trained = train(setup, *device);
  CHECK(trained.report.end == RunReport::End::finished);
  std::vector<RecordedLine> steps;
  for (const RecordedLine& line : trained.lines)
    if (line.kind == LineKind::step) steps.push_back(line);
  CHECK(steps.front().at("train/loss_scale") == 65536);
  CHECK(steps.back().at("train/loss_scale") == 32768);
  CHECK(steps.back().at("train/skipped_steps") == 1);
  CHECK(steps.back().step == 10);
  for (const auto& [name, tensor] : trained.weights) CHECK(tensor.isfinite().all().item<bool>());
}

TEST_CASE("checkpointed segments give the same gradients on a device") {
  const auto device = find_device();
  if (!device) return;
  Setup setup{{"run.deterministic=true", "model={use=\"segmented\"}", "train={steps=3}", "validation.every=\"never\""}};
  const Trained plain = train(setup, *device);
  setup.overrides[2] = "train={steps=3,activation_checkpointing=true}";
  const Trained again = train(setup, *device);
  for (const auto& [name, tensor] : plain.weights) {
    CAPTURE(name);
    CHECK(torch::equal(tensor, again.weights.at(name)));
  }
}

TEST_CASE("a model overfits a few samples on a device") {
  const auto device = find_device();
  if (!device) return;
  Setup setup{{"data.train.subset=\"1%\"", "optimizer={use=\"adamw\",lr=0.01}"}};
  setup.device = *device;
  BuiltRun run(setup);
  const OverfitReport report = overfit(*run.training, 300, 0.05);
  CHECK(report.is_reached);
  CHECK(report.without_gradient.empty());
}

}  // namespace tenon::pipeline
