// Compares the whole pipeline on a CUDA device with the CPU: metrics and weights must agree.
#include <torch/types.h>
#include <unistd.h>

#include <cmath>

#include "framework/distributed/collectives/process_group.h"
#include "framework/distributed/launch/loopback_socket.h"
#include "framework/pipeline/device/make_histogram.h"
#include "framework/pipeline/evaluation/evaluate.h"
#include "framework/pipeline/evaluation/predict.h"
#include "framework/pipeline/tools/overfit.h"
#include "tests/cuda/find_device.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"

namespace tenon::pipeline {
namespace {

// The simulated device uses the CPU's kernels, but some operators have another implementation on CUDA and round
// differently, above all convolutions. A sample between two classes may then be classified differently.
constexpr double kTolerance = 1e-3;
constexpr double kConvolutionTolerance = 2e-2;

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
    for (const auto& [key, value] : on_cpu.lines[i].metrics) {
      const std::string& name = key;
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
  if (const auto device = tests::find_device()) check_alike(train(setup, *device), train(setup, {}), tolerance);
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
  for (const char* use : {"\"sgd\",momentum=0.9", "\"adam\"", "\"rmsprop\"", "\"adagrad\"", "\"lion\"", "\"muon\"",
                          "\"schedule_free_adamw\""}) {
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
  const auto device = tests::find_device();
  if (!device) return;
  // The peak before the run does not count.
  constexpr int64_t kMib = 1024;
  at::empty({kMib << 20}, at::TensorOptions(c10::Device(c10::kCUDA, 0)).dtype(at::kByte)).reset();
  const int64_t bytes_before = c10::getDeviceAllocator(c10::kCUDA)->getDeviceStats(0).allocated_bytes[0].current;
  const Trained on_device = train({{kShort}}, *device);
  for (const RecordedLine& line : on_device.lines) {
    if (line.kind != LineKind::step && line.kind != LineKind::epoch) continue;
    const double mib = line.at("train/device_memory_mib");
    CHECK(mib > 0.1);
    CHECK(mib < static_cast<double>(bytes_before >> 20) + kMib);
  }
}

TEST_CASE("histograms on a device are those of the CPU, also with deterministic algorithms") {
  const auto device = tests::find_device();
  if (!device) return;
  // No value is at the limit of two bins, where rounding decides.
  const at::Tensor values = at::cat({at::arange(0.5, 1000, at::kDouble).square(), at::tensor({0.0, 1e6}, at::kDouble)});
  const auto expected = make_histogram(values).value();
  for (const bool is_deterministic : {false, true}) {
    CAPTURE(is_deterministic);
    at::globalContext().setDeterministicAlgorithms(is_deterministic, /*warn_only=*/false);
    const auto found = make_histogram(values.to(c10::Device(c10::kCUDA, 0))).value();
    CHECK(found.counts == expected.counts);
    CHECK(found.limits == expected.limits);
  }
  at::globalContext().setDeterministicAlgorithms(false, false);
}

TEST_CASE("batches are transformed on the device") {
  check_alike({{kShort, "loss=[{use='soft_cross_entropy', inputs={target='data.mixed_label'}}]"},
               "[[data.batch_transform]]\nuse = \"mix\"\nclasses = 10\n"});
}

TEST_CASE("the host never synchronises with the device between two log lines") {
  const auto device = tests::find_device();
  if (!device) return;
  const std::string adamw = "\"adamw\"";
  // Further keys of train, and the optimizer.
  std::vector<std::pair<std::string, std::string>> runs{{"cuda_graph=\"on\"", adamw}};
  for (const char* train : {"", ",clip_norm=0.1,average={use=\"ema\"}", ",accumulate=2", ",precision=\"bf16\"",
                            ",precision=\"fp16\"", ",non_finite=\"skip\""})
    runs.emplace_back(std::string("cuda_graph=\"off\"") + train, adamw);
  for (const char* use : {"\"sgd\",momentum=0.9", "\"sgd\",momentum=0.9,dampening=0.5", "\"adam\"", "\"rmsprop\"",
                          "\"adagrad\"", "\"lion\"", "\"muon\"", "\"schedule_free_adamw\""})
    runs.emplace_back("cuda_graph=\"off\"", use);
  for (const auto& keys : runs) {
    const std::string &train = keys.first, &use = keys.second;
    CAPTURE(train);
    CAPTURE(use);
    // 14 steps are less than an epoch. At the end of an epoch the host also synchronises.
    Setup setup{{"train={steps=14," + train + "}", "log.every=\"3 steps\"", "data.batch_size=50",
                 "validation.every=\"never\"", "checkpoint.every=\"never\"", "optimizer={lr=0.01,use=" + use + "}"}};
    // Skipped steps restore buffers, such as those of batch norms.
    if (train.find("skip") != train.npos)
      setup.overrides.emplace_back(
          "model={use=\"resnet\",params={depth=18,width=8,stem=\"cifar\",channels=1,classes=10}}");
    setup.device = *device;
    BuiltRun run(setup);
    Waits waits;
    run.train({&waits});
    REQUIRE(waits.at_steps.size() == 14);
    // Steps end at 0, 1, 2 | 3, 4, 5 | ... There must be no synchronisation within a group. A graph is recorded and
    // verified in the first two groups.
    const size_t first = train.find("\"on\"") == train.npos ? 0 : 6;
    for (size_t step = first; step + 1 < waits.at_steps.size(); ++step) {
      CAPTURE(step);
      if (step % 3 != 2) CHECK(waits.at_steps[step + 1] == waits.at_steps[step]);
    }
  }
}

TEST_CASE("the fields of a batch, the model and its outputs are on the device; metric values are on the CPU") {
  const auto cuda = tests::find_device();
  if (!cuda) return;
  Setup setup{{"model={use=\"small_cnn\"}"}};
  std::vector<std::vector<std::pair<std::string, double>>> metrics;
  for (const support::ComputeDevice& device : {support::ComputeDevice{}, *cuda}) {
    setup.device = device;
    BuiltRun run(setup);
    Training& training = *run.training;
    for (const components::NamedTensor& named : training.model.tensors())
      CHECK(named.tensor.device().is_cuda() == device.is_cuda());
    const components::StepContext context{false, 0, 0, 0, 1, 0};
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
  const auto device = tests::find_device();
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
  const auto device = tests::find_device();
  if (!device) return;
  Setup setup{{"run.deterministic=true", "model={use=\"segmented\"}", "train={steps=3}", "validation.every=\"never\""}};
  const Trained plain = train(setup, *device);
  setup.overrides[2] = "train={steps=3,activation_checkpointing=true}";
  const Trained again = train(setup, *device);
  for (const auto& [key, tensor] : plain.weights) {
    const std::string& name = key;
    CAPTURE(name);
    CHECK(torch::equal(tensor, again.weights.at(name)));
  }
}

TEST_CASE("a label that is not a class ends the run before the device uses it") {
  const auto device = tests::find_device();
  if (!device) return;
  BuiltRun run({{"train={steps=2}", "model={use=\"mlp\",params={classes=4}}", "metric=[]"}, "", *device});
  const std::string message = find_error(support::ErrorKind::data, [&] { run.train(); });
  CAPTURE(message);
  CHECK(message.starts_with("dataset \"digits\""));
  for (const char* part : {"(train sample ", "data.label holds ",
                           "; expected 0 to 3 or ignore_index (-100), because it is the input target of loss "
                           "\"cross_entropy\"",
                           "below the extent C of logits; fix the data"})
    CHECK(contains(message, part));
  CHECK(at::ones({}, at::kCUDA).item<float>() == 1);  // the device still works
}

TEST_CASE("a run of one rank with NCCL learns the same as a run without") {
  const auto device = tests::find_device();
  if (!device) return;
  distributed::LoopbackSocket listener = distributed::listen_on_loopback();
  distributed::World world;
  world.master_address = "127.0.0.1";
  world.master_port = listener.port;
  world.listen_fd = dup(listener.descriptor.number());  // the store closes it
  distributed::ProcessGroup group(world, {}, nullptr, tests::tested_nccl());
  const Setup setup{{"train={steps=40}", "validation.every=\"20 steps\"", "checkpoint.every=\"20 steps\""}};
  Setup on_device = setup;
  on_device.device = *device;
  BuiltRun run(on_device, group);
  const RunReport report = run.train();
  CHECK(report.state.step == 40);
  const Trained alone = train(setup, *device);
  REQUIRE(run.recorder.lines.size() == alone.lines.size());
  for (size_t i = 0; i < alone.lines.size(); ++i)
    for (const auto& [key, value] : alone.lines[i].metrics) {
      const std::string& name = key;
      CAPTURE(name);
      if (name.find("loss") != name.npos)
        CHECK(run.recorder.lines[i].at(name) == doctest::Approx(value).epsilon(kTolerance));
    }
}

TEST_CASE("a model overfits a few samples on a device") {
  const auto device = tests::find_device();
  if (!device) return;
  BuiltRun run({{"data.train.subset=\"1%\"", "optimizer={use=\"adamw\",lr=0.01}"}, "", *device});
  const OverfitReport report = overfit(*run.training, 300, 0.05);
  CHECK(report.is_reached);
  CHECK(report.without_gradient.empty());
}

}  // namespace tenon::pipeline
