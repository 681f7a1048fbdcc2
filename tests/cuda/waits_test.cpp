// Counts the synchronisations with the device of every bundled model, loss and metric. A training step must have none.
#include <torch/types.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "framework/components/calls/host_table.h"
#include "framework/components/kinds/loss.h"
#include "framework/components/kinds/metric.h"
#include "framework/components/kinds/model.h"
#include "framework/components/loading/catalogue.h"
#include "framework/components/tensors/tensor_functions.h"
#include "tests/cuda/tested_device.h"
#include "tests/doctest_with_torch.h"
#include "tests/test_folder.h"

namespace tenon::components {
namespace {

using config::ComponentKind;
using config::Values;

constexpr int64_t kSamples = 4;
constexpr int64_t kClasses = 5;
constexpr int64_t kLength = 6;  // of a sequence

at::Tensor noise(const std::vector<int64_t>& shape) { return torch::randn(shape); }
at::Tensor indices(const std::vector<int64_t>& shape, int64_t end) { return torch::randint(0, end, shape, at::kLong); }
at::Tensor image(int64_t size = 16) { return noise({kSamples, 3, size, size}); }
at::Tensor tokens() { return indices({kSamples, kLength}, kClasses); }

struct WaitCase {
  Values params;
  std::vector<at::Tensor> inputs;
  std::string exception = {};  // why the component synchronises; empty: it does not
};

using WaitCases = std::multimap<std::string, WaitCase>;

WaitCases model_cases() {
  const Values transformer{
      {"vocabulary_size", kClasses}, {"width", int64_t{8}}, {"heads", int64_t{2}}, {"feed_forward", int64_t{8}}};
  return {
      {"efficientnet", {{{"width", 0.2}, {"depth", 0.2}, {"classes", kClasses}}, {image(64)}}},
      {"gpt",
       {{{"vocabulary_size", kClasses}, {"context", kLength}, {"width", int64_t{8}}, {"heads", int64_t{2}}},
        {tokens()}}},
      {"mlp", {{{"inputs", int64_t{3} * 16 * 16}}, {image()}}},
      {"resnet", {{{"width", int64_t{4}}, {"stem", std::string("cifar")}}, {image()}}},
      {"seq2seq_transformer", {transformer, {tokens(), tokens()}}},
      {"siamese_cnn", {{{"width", int64_t{4}}, {"values", int64_t{2}}}, {image(), image()}}},
      {"small_cnn", {{{"channels", int64_t{3}}, {"width", int64_t{4}}, {"values", int64_t{2}}}, {image()}}},
      {"unet", {{{"width", int64_t{4}}, {"depth", int64_t{2}}}, {image()}}},
      {"vit",
       {{{"image_size", int64_t{16}},
         {"patch_size", int64_t{8}},
         {"width", int64_t{8}},
         {"depth", int64_t{1}},
         {"heads", int64_t{2}},
         {"mlp_width", int64_t{8}},
         {"dropout", 0.1},
         {"attention_dropout", 0.1},
         {"stochastic_depth", 0.1}},
        {image()}}},
  };
}

WaitCases loss_cases() {
  const std::vector<double> weights(kClasses, 0.5);
  const std::vector<at::Tensor> values{noise({kSamples, 3}), noise({kSamples, 3})};
  const std::vector<at::Tensor> classes{noise({kSamples, kClasses, 3}), indices({kSamples, 3}, kClasses)};
  const std::vector<at::Tensor> binary{noise({kSamples, kClasses}), indices({kSamples, kClasses}, 2)};
  const std::vector<at::Tensor> probabilities{noise({kSamples, kClasses}), noise({kSamples, kClasses}).softmax(1)};
  const std::vector<at::Tensor> sequences{noise({kSamples, kLength, kClasses}), tokens()};
  const std::vector<at::Tensor> aligned{noise({kSamples, 2 * kLength, kClasses}), tokens(),
                                        at::full({kSamples}, 2 * kLength), at::full({kSamples}, 2)};
  return {
      {"bce_with_logits", {{}, binary}},
      {"bce_with_logits", {{{"positive_weights", weights}}, binary}},
      {"binary_dice", {{}, binary}},
      {"binary_focal", {{}, binary}},
      {"cross_entropy", {{}, classes}},
      {"cross_entropy", {{{"label_smoothing", 0.1}, {"class_weights", weights}}, classes}},
      {"ctc", {{}, aligned, "the host checks lengths and labels, and passes the lengths to the operator"}},
      {"dice", {{}, classes}},
      {"focal", {{}, classes}},
      {"focal", {{{"class_weights", weights}}, classes}},
      {"huber", {{}, values}},
      {"kl_divergence", {{}, probabilities}},
      {"l1", {{}, values}},
      {"mse", {{}, values}},
      {"sequence_cross_entropy", {{}, sequences}},
      {"sequence_cross_entropy", {{{"label_smoothing", 0.1}, {"class_weights", weights}}, sequences}},
      {"smooth_l1", {{}, values}},
      {"soft_cross_entropy", {{}, probabilities}},
  };
}

WaitCases metric_cases() {
  constexpr const char* kCounts = "masked_select and bincount return tensors of a size that depends on the data";
  constexpr const char* kCompares = "the host compares the tokens";
  const Values of_classes{{"classes", kClasses}};
  const std::vector<at::Tensor> values{noise({kSamples, 3}), noise({kSamples, 3})};
  const std::vector<at::Tensor> classes{noise({kSamples, kClasses, 3}), indices({kSamples, 3}, kClasses)};
  const std::vector<at::Tensor> binary{noise({kSamples}), indices({kSamples}, 2)};
  const std::vector<at::Tensor> sequences{noise({kSamples, kLength, kClasses}), tokens()};
  return {
      {"accuracy", {{}, classes}},
      {"accuracy", {{{"top_k", int64_t{2}}}, classes}},
      {"average_precision", {of_classes, classes}},
      {"binary_accuracy", {{}, binary}},
      {"binary_average_precision", {{}, binary}},
      {"binary_precision_recall_f1", {{}, binary}},
      {"binary_roc_auc", {{}, binary}},
      {"bleu", {{}, {tokens(), tokens()}, kCompares}},
      {"confusion_matrix", {of_classes, classes, kCounts}},
      {"dice_score", {of_classes, classes, kCounts}},
      {"iou", {of_classes, classes, kCounts}},
      {"mae", {{}, values}},
      {"perplexity", {{}, sequences}},
      {"precision_recall_f1", {of_classes, classes, kCounts}},
      {"r2", {{}, values}},
      {"r2", {{{"outputs", int64_t{3}}}, values}},
      {"rmse", {{}, values}},
      {"roc_auc", {of_classes, classes}},
      {"rouge_l", {{}, {tokens(), tokens()}, kCompares}},
      {"token_accuracy", {{}, sequences}},
  };
}

Catalogue open_bundled() {
  install_libtorch();
  return Catalogue::open({build_folder() / "plugins"}, host_table(), torch_build());
}

config::ComponentPlan plan_of(const Component& component, const Values& params) {
  config::ComponentPlan plan;
  plan.use = component.schema.id;
  plan.params = params;
  for (const config::ParamSchema& param : component.schema.params)
    if (param.default_value) plan.params.emplace(param.name, *param.default_value);
  return plan;
}

// Builds a component and returns what the device computes in a step.
using BuildStep =
    std::function<std::function<void()>(const Component&, const config::ComponentPlan&, std::vector<at::Tensor>)>;

// Counts the synchronisations of the second step, because the first one may prepare kernels.
void check_waits(ComponentKind kind, const WaitCases& cases, const BuildStep& build_step) {
  if (!tests::tested_device()) {
    MESSAGE("skipped, no CUDA device: " << tests::no_device());
    return;
  }
  const Catalogue bundled = open_bundled();
  const std::vector<std::string> ids = bundled.component_ids(kind);
  for (const std::string& id : ids) {
    const bool needs_file = id == "exported";  // the operators are those of its archive
    CHECK_MESSAGE((cases.contains(id) || needs_file), id, " has no case in this test");
  }
  for (const auto& entry : cases) {
    const std::string& id = entry.first;
    const WaitCase& given = entry.second;
    CAPTURE(id);
    REQUIRE(std::ranges::find(ids, id) != ids.end());
    const Component& component = bundled.find(kind, id);
    std::vector<at::Tensor> inputs;
    for (const at::Tensor& input : given.inputs) inputs.push_back(input.to(at::kCUDA));
    const auto step = build_step(component, plan_of(component, given.params), inputs);
    step();
    const int64_t waits = tests::waits_of(step);
    if (given.exception.empty())
      CHECK_MESSAGE(waits == 0, "it synchronises");
    else
      CHECK_MESSAGE(waits > 0, "not an exception: ", given.exception);
  }
}

const StepContext kTraining{.training = true};

}  // namespace

TEST_CASE("forward and backward of a bundled model do not synchronise with the device") {
  check_waits(ComponentKind::model, model_cases(), [](const auto& component, const auto& plan, const auto& inputs) {
    const auto model = std::make_shared<Model>(component, plan);
    model->build();
    for (const NamedTensor& named : model->tensors()) {
      at::Tensor tensor = named.tensor;
      tensor.set_data(tensor.detach().to(at::kCUDA));
    }
    return [model, inputs] {
      at::Tensor total;
      for (const at::Tensor& output : model->forward(kTraining, inputs))
        total = total.defined() ? total + output.sum() : output.sum();
      total.backward();
      for (const NamedTensor& named : model->tensors())
        if (named.trainable) CHECK_MESSAGE(named.tensor.grad().defined(), named.name);
    };
  });
}

TEST_CASE("forward and backward of a bundled loss do not synchronise with the device") {
  check_waits(ComponentKind::loss, loss_cases(), [](const auto& component, const auto& plan, const auto& inputs) {
    const auto loss = std::make_shared<Loss>(component, config::LossPlan{plan, plan.use, 1.0});
    return [loss, inputs] {
      inputs.front().requires_grad_(true);
      loss->forward(kTraining, inputs).loss.backward();
      CHECK(inputs.front().grad().defined());
    };
  });
}

TEST_CASE("the update of a bundled metric does not synchronise with the device") {
  check_waits(ComponentKind::metric, metric_cases(), [](const auto& component, const auto& plan, const auto& inputs) {
    const auto metric = std::make_shared<Metric>(component, config::MetricPlan{plan, plan.use}, at::kCUDA);
    metric->reset();
    return [metric, inputs] { metric->update({}, inputs); };
  });
}

}  // namespace tenon::components
