// CUDA graphs of batches: runs with and without them must have the same results.
#include <torch/types.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cuda/find_device.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"

namespace tenon::pipeline {
namespace {

// Deterministic, so that operators repeat exactly on every device.
struct GraphRun {
  GraphRun(std::vector<std::string> overrides, const support::ComputeDevice& device, const std::string& graphs) {
    Setup setup{std::move(overrides), "", device};
    setup.overrides.push_back("run.deterministic=true");
    setup.overrides.push_back("train.cuda_graph=" + graphs);
    run = std::make_unique<BuiltRun>(setup);
    report = run->train();
  }
  int64_t replays() const { return report.state.graph_replays; }

  std::unique_ptr<BuiltRun> run;
  RunReport report;
};

void check_weights(const MemoryRecorder& left, const MemoryRecorder& right) {
  REQUIRE(left.weights.size() == right.weights.size());
  for (const auto& [key, tensor] : left.weights) {
    const std::string& name = key;
    CAPTURE(name);
    CHECK(torch::equal(tensor, right.weights.at(name)));
  }
}

void check_equal(const GraphRun& a, const GraphRun& b) {
  const MemoryRecorder &left = a.run->recorder, &right = b.run->recorder;
  check_weights(left, right);
  REQUIRE(left.lines.size() == right.lines.size());
  for (size_t i = 0; i < left.lines.size(); ++i)
    for (const auto& [key, value] : left.lines[i].metrics) {
      const std::string& name = key;
      if (name.find("loss") == name.npos && name.find("accuracy") == name.npos) continue;
      CAPTURE(name);
      CHECK(right.lines[i].at(name) == value);
    }
}

std::string refusal(const std::vector<std::string>& overrides, const support::ComputeDevice& on) {
  return find_error(support::ErrorKind::configuration, [&] { GraphRun(overrides, on, "on"); });
}

// The last batch of an epoch is smaller.
const std::string kBatches = "data.batch_size=100";

}  // namespace

TEST_CASE("replayed batches have the same losses, gradients and weights as usual ones") {
  const auto device = tests::find_device();
  if (!device) return;
  const std::vector<std::vector<std::string>> setups{
      {kBatches},
      {kBatches, "optimizer={use=\"adamw\",lr=0.01}", "train={epochs=2,clip_norm=0.1}"},
      {kBatches, "model={use=\"small_cnn\",params={width=4}}", "train={epochs=2,memory_format=\"channels_last\"}"},
      {kBatches, "train={epochs=2,accumulate=3}"},
      {kBatches, "train={epochs=2,precision=\"bf16\"}"},
      {kBatches, "train={epochs=2,precision=\"bf16_true\"}"},
      {kBatches, "train={epochs=2,precision=\"fp16\"}"},
      {kBatches, "train={epochs=2,average={use=\"ema\",decay=0.9}}"},
      {kBatches, "model={use=\"efficientnet\",params={width=0.1,depth=0.1,channels=1,classes=10}}", "train={steps=8}"},
      {kBatches, "loss=[{use=\"cross_entropy\"},{use=\"focal\",weight=0.5}]"}};
  for (const std::vector<std::string>& overrides : setups) {
    CAPTURE(overrides.back());
    const GraphRun replayed(overrides, *device, "on"), usual(overrides, *device, "off");
    CHECK(usual.replays() == 0);
    CHECK(replayed.replays() > 0);
    check_equal(replayed, usual);
  }
}

TEST_CASE("graphs are recorded again when other parameters are trained") {
  const auto device = tests::find_device();
  if (!device) return;
  const auto train = [&](const std::string& graphs) {
    Setup setup{{kBatches, "train={epochs=4,cuda_graph=\"" + graphs + "\"}", "run.deterministic=true"},
                "[[optimizer.group]]\nmatch = [\"*bias\"]\nfrozen_epochs = 2\n",
                *device};
    auto run = std::make_unique<BuiltRun>(setup);
    const RunReport report = run->train();
    CHECK((report.state.graph_replays > 0) == (graphs == "on"));
    return run;
  };
  const auto replayed = train("on"), usual = train("off");
  check_weights(usual->recorder, replayed->recorder);
}

TEST_CASE("\"auto\" replays components that declare that they can be captured") {
  const auto device = tests::find_device();
  if (!device) return;
  CHECK(GraphRun({kBatches}, *device, "auto").replays() > 0);
  CHECK(GraphRun({kBatches, "loss=[{use=\"two_parts\"}]"}, *device, "auto").replays() == 0);
  CHECK(GraphRun({kBatches, "train={epochs=1,activation_checkpointing=true}"}, *device, "auto").replays() == 0);
}

TEST_CASE("a wrong declaration is noticed, and the run continues as usual") {
  const auto device = tests::find_device();
  if (!device) return;
  const auto model = [](const std::string& flaw) {
    return std::vector<std::string>{kBatches, "model={use=\"miscaptured\",params={flaw=\"" + flaw + "\"}}",
                                    "optimizer.lr=0.001"};
  };
  CHECK(GraphRun(model("none"), *device, "auto").replays() > 0);
  for (const char* flaw : {"step", "seed", "host_memory", "number"}) {
    CAPTURE(flaw);
    const GraphRun noticed(model(flaw), *device, "auto"), usual(model(flaw), *device, "off");
    CHECK(noticed.replays() == 0);
    check_equal(noticed, usual);
    CHECK(refusal(model(flaw), *device).starts_with("train.cuda_graph: is \"on\", but a batch cannot be replayed: "));
  }
}

TEST_CASE("\"on\" refuses a run that cannot use graphs, with the reason") {
  const auto device = tests::find_device();
  if (!device) return;
  CHECK(contains(refusal({kBatches}, {}), "but the run is not on a CUDA device"));
  CHECK(contains(refusal({"train={epochs=1,activation_checkpointing=true}"}, *device),
                 "but train.activation_checkpointing is true"));
}

TEST_CASE("a run resumed with graphs ends with the bits of the uninterrupted one") {
  const auto device = tests::find_device();
  if (!device) return;
  const std::vector<std::string> overrides{kBatches, "train={steps=20}", "checkpoint.every=\"10 steps\"",
                                           "run.deterministic=true", "train.cuda_graph=on"};
  BuiltRun whole({overrides, "", *device});
  whole.train();
  REQUIRE(whole.recorder.checkpoint_steps.front() == 10);
  BuiltRun resumed({overrides, "", *device});
  const RunReport report = resumed.train({}, 0, &whole.recorder.checkpoints[0]);
  CHECK(report.state.graph_replays > 0);
  check_weights(whole.recorder, resumed.recorder);
}

}  // namespace tenon::pipeline
