// Batch norms with one value per channel, and checkpoints without NaN.
#include <torch/types.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/checks/check_model.h"
#include "framework/pipeline/tools/save_weights.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

namespace tenon::pipeline::batch_norm_test {
namespace {

using support::ErrorKind;

const std::string kResnet = "model={use='resnet',params={depth=18,width=2}}";
// Its modules are of torch::nn. Its last maps are 1 x 1 for images of 8 x 8.
const std::string kCnn = "model={use='small_cnn',params={stages=3,width=2}}";

Setup images(int samples, int size, const std::string& model, const std::vector<std::string>& more = {}) {
  const std::string data = "={use='synthetic',params={samples=" + std::to_string(samples) +
                           ",height=" + std::to_string(size) + ",width=" + std::to_string(size) + ",classes=3}}";
  return {join_settings({model, "data.train" + data, "data.validation" + data, "data.batch_size=4",
                         "data.validation_batch_size=4", "train={epochs=1}", "optimizer.lr=0.01"},
                        more)};
}

std::string refusal_of_check(const Setup& setup) {
  BuiltRun run(setup);
  return find_error(ErrorKind::configuration, [&] { check_batch_norm(*run.training); });
}

bool is_finite(const at::Tensor& tensor) { return at::isfinite(tensor).all().item<bool>(); }

// What the run throws; its message. The checkpoints that it has written are finite.
std::string failure_of(BuiltRun& run, const std::vector<Observer*>& observers = {}) {
  const std::string message = find_error(ErrorKind::non_finite, [&] { run.train(observers); });
  for (const Checkpoint& checkpoint : run.recorder.checkpoints)
    for (const auto& one : checkpoint.model) CHECK(is_finite(one.tensor));
  return message;
}

// Calls a function after the second step.
struct AfterStep2 final : Observer {
  explicit AfterStep2(std::function<void()> given) : body(std::move(given)) {}
  bool subscribes(Event event) const override { return event == Event::step_end; }
  void on_event(Event, const RunState& state, CallbackRequests&) override {
    if (state.step == 2) body();
  }
  std::function<void()> body;
};

at::Tensor buffer_of(const BuiltRun& run, const std::string& end) {
  for (const components::NamedTensor& named : run.training->model.tensors())
    if (named.name.ends_with(end)) return named.tensor;
  FAIL("no buffer " << end);
  return {};
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("a last batch of one sample is refused before training if a batch norm gets one value per channel") {
  for (const std::string& model : {kResnet, kCnn}) {
    const int size = model == kCnn ? 8 : 32;
    const std::string refusal = refusal_of_check(images(9, size, model));
    CAPTURE(refusal);
    for (const char* part :
         {"data.batch_size is 4 and train has 9 samples, so the last batch of an epoch has 1 sample",
          "Expected more than 1 value per channel when training, got input size [1, ",
          "expected data.drop_last = true, which leaves out the smaller last batch, or another data.batch_size"})
      CHECK(contains(refusal, part));
    CHECK(contains(refusal_of_check(images(4, size, model, {"data.batch_size=1"})),
                   "data.batch_size is 1, for which the model fails"));
    CHECK(refusal_of_check(images(9, size, model, {"data.drop_last=true"})) == "accepted");
    CHECK(refusal_of_check(images(9, size, model, {"data.limit_batches=2"})) == "accepted");
    CHECK(refusal_of_check(images(9, size, model, {"train={steps=2}"})) == "accepted");
    CHECK(refusal_of_check(images(10, size, model)) == "accepted");
    CHECK(refusal_of_check(images(9, 2 * size, model)) == "accepted");
  }
  CHECK(refusal_of_check({{"data.batch_size=1", "model={use='mlp'}"}}) == "accepted");
}

TEST_CASE("the check of a batch of one sample changes nothing") {
  BuiltRun run(images(9, 64, kResnet));
  const at::Tensor mean = buffer_of(run, "bn1.running_mean").clone(), weight = run.training->model.tensors()[0].tensor;
  const at::Tensor before = weight.clone(), random = at::globalContext().defaultGenerator(at::kCPU).get_state();
  check_batch_norm(*run.training);
  CHECK(torch::equal(buffer_of(run, "bn1.running_mean"), mean));
  CHECK(torch::equal(weight, before));
  CHECK(torch::equal(at::globalContext().defaultGenerator(at::kCPU).get_state(), random));
}

TEST_CASE("frozen batch norms accept a batch of one sample") {
  const std::string frozen = "optimizer.group=[{match=['fc.*']},{match=['*'],frozen=true,eval_batch_norm=true}]";
  CHECK(refusal_of_check(images(9, 32, kResnet, {frozen})) == "accepted");
  const std::string later = "optimizer.group=[{match=['fc.*']},{match=['*'],frozen_epochs=1,eval_batch_norm=true}]";
  CHECK(refusal_of_check(images(9, 32, kResnet, {later})) == "accepted");
  CHECK(contains(refusal_of_check(images(9, 32, kResnet, {later, "train={epochs=2}"})), "data.drop_last = true"));
}

TEST_CASE("a step in which a batch norm has one value per channel ends the run without a NaN in a checkpoint") {
  for (const std::string& model : {kResnet, kCnn}) {
    BuiltRun run(images(9, model == kCnn ? 8 : 32, model, {"checkpoint.every='1 step'", "validation.every='never'"}));
    const std::string message = failure_of(run);
    CAPTURE(message);
    CHECK(contains(message, "Expected more than 1 value per channel when training, got input size [1, "));
    CHECK(contains(message, "set data.drop_last = true"));
    CHECK(contains(message, "step 3"));
    CHECK(run.recorder.checkpoints.size() >= 2);
  }
}

TEST_CASE("a buffer, an average or a state of the optimizer that holds NaN is named and not saved") {
  const std::vector<std::string> often{"checkpoint.every='1 step'", "validation.every='never'"};
  const auto check = [&](const std::vector<std::string>& more, const auto& spoil, const std::string& name) {
    BuiltRun run(images(12, 16, kCnn, join_settings(often, more)));
    AfterStep2 spoiling([&] { spoil(*run.training); });
    const std::string message = failure_of(run, {&spoiling});
    CAPTURE(message);
    CHECK(contains(message, name + " holds NaN or infinity after step 2; expected finite numbers: "));
    CHECK(run.recorder.checkpoint_steps == std::vector<int64_t>{1});
  };
  const auto set = [](const at::Tensor& tensor, double value) {
    at::Tensor element = tensor.detach();
    while (element.dim() > 0) element = element.select(0, 0);
    element.fill_(value);
  };
  check(
      {},
      [&](Training& training) {
        for (const auto& named : training.model.tensors())
          if (named.name == "features.1.running_var") set(named.tensor, kNan);
      },
      "features.1.running_var");
  check(
      {}, [&](Training& training) { set(training.model.tensors()[0].tensor, -INFINITY); }, "features.0.weight");
  check(
      {"train.average={use='ema'}"},
      [&](Training& training) { set(training.evaluation_weights->weights_outside_model()[0].tensor, kNan); },
      "the average of features.0.weight");
  check(
      {"optimizer={use='adamw',lr=1e-3}"},
      [&](Training& training) {
        for (const auto& one : training.optimizer->state())
          if (one.name == "features.0.weight.exp_avg_sq") set(one.tensor, INFINITY);
      },
      "the optimizer state features.0.weight.exp_avg_sq");
}

TEST_CASE("a buffer that is infinite from the start is saved, but not with NaN") {
  const Setup setup = images(8, 16, kCnn, {"validation.every='never'"});
  BuiltRun infinite(setup), spoiled(setup);
  buffer_of(infinite, "features.1.running_mean")[0].fill_(-std::numeric_limits<double>::infinity());
  infinite.train();
  CHECK(std::isinf(infinite.recorder.weights.at("features.1.running_mean")[0].item<double>()));
  buffer_of(spoiled, "features.1.running_mean")[0].fill_(kNan);
  CHECK(contains(failure_of(spoiled), "features.1.running_mean holds NaN or infinity"));
  CHECK(spoiled.recorder.checkpoints.empty());
}

TEST_CASE("a step that is skipped leaves no NaN in the buffers") {
  const std::filesystem::path file = tenon::test_folder() / "samples.safetensors";
  at::Tensor image = torch::rand({12, 1, 16, 16});
  image[5].fill_(kNan);
  save_weights(file, {{"image", image, true}, {"label", torch::arange(12) % 3, true}}, at::ScalarType::Undefined);
  const std::string data = "={use='arrays',params={path='" + file.string() + "'}}";
  for (const size_t lag : {size_t{0}, size_t{3}}) {
    BuiltRun run({{"model={use='small_cnn',params={stages=2,width=2,channels=1,classes=3}}", "data.train" + data,
                   "data.validation" + data, "validation.every='never'", "data.batch_size=4", "metric=[]",
                   "loss=[{use='cross_entropy',inputs={target='data.label'}}]", "train={epochs=2,non_finite='skip'}",
                   "optimizer.lr=0.01"}});
    run.training->readback_lag = lag;
    CHECK(failure_of(run) == "accepted");
    CHECK_FALSE(torch::equal(run.recorder.weights.at("features.1.running_mean"), torch::zeros({2})));
    CHECK(run.recorder.weights.at("features.1.num_batches_tracked").item<int64_t>() == 6);
  }
}

}  // namespace tenon::pipeline::batch_norm_test
