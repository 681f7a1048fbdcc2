#include "tests/bundled/sketched_network.h"

#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/support/digests/sha256.h"
#include "tests/bundled/rounding.h"
#include "tests/bundled/scattered_numbers.h"
#include "tests/doctest_with_torch.h"

namespace tenon::bundled {

using components::Model;
using components::NamedTensor;

namespace {

enum class Which { parameters, buffers };

std::vector<at::Tensor> tensors_of(const Model& model, Which which) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& named : model.tensors())
    if (named.trainable == (which == Which::parameters)) tensors.push_back(named.tensor);
  return tensors;
}

std::vector<at::Tensor> gradients_of(const Model& model) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : tensors_of(model, Which::parameters)) gradients.push_back(parameter.grad());
  return gradients;
}

// Returns the number of nodes with this name in the autograd graph of `output`.
int64_t count_nodes(const at::Tensor& output, const std::string& name) {
  std::set<torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open = {output.grad_fn().get()};
  int64_t count = 0;
  while (!open.empty()) {
    torch::autograd::Node* const node = open.back();
    open.pop_back();
    if (!node || !seen.insert(node).second) continue;
    count += node->name() == name ? 1 : 0;
    for (const torch::autograd::Edge& edge : node->next_edges()) open.push_back(edge.function.get());
  }
  return count;
}

constexpr int64_t kBatch = 4;
constexpr int64_t kSteps = 5;
constexpr double kRate = 1e-3;

at::Tensor make_values(const NamedTensor& named, int64_t salt) {
  const at::Tensor& tensor = named.tensor;
  if (named.name.ends_with("num_batches_tracked")) return torch::full({}, 7);
  const at::Tensor values = scatter(tensor.sizes(), salt);
  if (tensor.dim() == 4) {
    const auto fan_out = static_cast<double>(tensor.size(0) * tensor.size(2) * tensor.size(3));
    return values * 2 * std::sqrt(6 / fan_out);
  }
  if (tensor.dim() == 2) return values * 2 / std::sqrt(static_cast<double>(tensor.size(1)));
  return named.name.ends_with("weight") || named.name.ends_with("running_var") ? values + 1 : values;
}

at::Tensor make_labels(int64_t step) { return (torch::arange(kBatch) * 3 + step).remainder(kSketchClasses); }

// Returns a row for each tensor: its norm and three of its elements.
at::Tensor sketch(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return torch::zeros({0, 4}, torch::kDouble);
  std::vector<at::Tensor> rows;
  for (const at::Tensor& tensor : tensors) rows.push_back(bundled::sketch(tensor));
  return torch::stack(rows);
}

}  // namespace

at::Tensor read_values(const std::string& file, const std::string& name) {
  const artifacts::SafetensorsFile stored(TENON_SOURCE_DIR "/tests/parity/reference/" + file);
  const artifacts::TensorView* const found = stored.find(name);
  REQUIRE_MESSAGE(found, file << " has no " << name);
  return pipeline::copy_stored(*found);
}

Sketch read_sketch(const std::string& file, const SketchedCase& of) {
  const auto read = [&](const char* values) { return read_values(file, of.name + values); };
  return {read(".logits"), read(".training.logits"), read(".gradients"), read(".buffers"), read(".losses")};
}

at::Tensor make_images(const SketchedCase& of, int64_t step) {
  return scatter({kBatch, of.image[0], of.image[1], of.image[2]}, 1000 + step) * 3;
}

void fill(const Model& model, at::ScalarType dtype) {
  const torch::NoGradGuard no_gradient;
  for (size_t i = 0; i < model.tensors().size(); ++i) {
    const NamedTensor& named = model.tensors()[i];
    const at::Tensor values = make_values(named, static_cast<int64_t>(i));
    named.tensor.set_data(named.tensor.is_floating_point() ? values.to(dtype) : values);
  }
}

namespace {

// The results of some training steps, with rows as in Sketch.
struct Trained {
  at::Tensor logits, gradients, losses, buffers;
};

Trained train(const Model& model, const SketchedCase& of, at::ScalarType dtype) {
  fill(model, dtype);
  Trained trained;
  std::vector<double> losses;
  for (int64_t step = 0; step < kSteps; ++step) {
    const at::Tensor logits = model.forward({.training = true, .step = step}, {make_images(of, step).to(dtype)})[0];
    const at::Tensor loss = torch::cross_entropy_loss(logits, make_labels(step));
    loss.backward();
    losses.push_back(loss.item<double>());
    if (step == 0) {
      trained.logits = logits.detach().to(torch::kDouble);
      trained.gradients = sketch(gradients_of(model));
    }
    const torch::NoGradGuard no_gradient;
    for (const at::Tensor& parameter : tensors_of(model, Which::parameters)) {
      parameter.sub_(parameter.grad() * kRate);
      parameter.mutable_grad().reset();
    }
  }
  trained.losses = torch::tensor(losses, torch::kDouble).unsqueeze(0);
  trained.buffers = sketch(tensors_of(model, Which::buffers));
  return trained;
}

// Returns the largest difference of a row, relative to the largest number of the row. A row may be zero except for
// rounding, if its terms cancel. Its terms are as large as those of other rows, and so is its rounding error.
double distance_of_rows(const at::Tensor& found, const at::Tensor& expected) {
  constexpr double kLeastScale = 1e-3;  // relative to the largest number of all rows
  REQUIRE(found.sizes() == expected.sizes());
  if (expected.numel() == 0) return 0;
  const at::Tensor scale = expected.abs().amax(1).clamp_min(kLeastScale * expected.abs().max().item<double>());
  return ((found - expected).abs().amax(1) / scale).max().item<double>();
}

void check_distance(const std::string& what, const at::Tensor& found, const at::Tensor& expected, double tolerance) {
  CAPTURE(what);
  CHECK(distance_of_rows(found, expected) < tolerance);
}

// Multiplies each number of all floating-point tensors by 1 + u or 1 - u. u is half of float's epsilon.
void perturb(const Model& model) {
  const torch::NoGradGuard no_gradient;
  int64_t salt = 0;
  for (const NamedTensor& named : model.tensors())
    if (named.tensor.is_floating_point()) named.tensor.set_data(perturbed(named.tensor, salt++));
}

}  // namespace

void check_evaluation(const Model& model, const SketchedCase& of, const Sketch& expected) {
  const torch::NoGradGuard no_gradient;
  const auto evaluate = [&](at::ScalarType dtype) {
    fill(model, dtype);
    return model.forward({}, {make_images(of, 0).to(dtype)})[0].to(torch::kDouble);
  };
  const at::Tensor logits = evaluate(torch::kDouble);
  check_distance("logits of evaluation", logits, expected.logits,
                 double_tolerance(distance_of_rows(evaluate(torch::kFloat), logits)));
}

void check_training(const Model& model, const SketchedCase& of, const Sketch& expected) {
  const Trained exact = train(model, of, torch::kDouble), single = train(model, of, torch::kFloat);
  // The first step has a separate estimate, because it amplifies rounding less than all steps together.
  const double of_step =
      std::max(distance_of_rows(single.logits, exact.logits), distance_of_rows(single.gradients, exact.gradients));
  const double of_steps = std::max(
      {of_step, distance_of_rows(single.losses, exact.losses), distance_of_rows(single.buffers, exact.buffers)});
  check_distance("logits", exact.logits, expected.training_logits, double_tolerance(of_step));
  check_distance("gradients", exact.gradients, expected.gradients, double_tolerance(of_step));
  check_distance("losses", exact.losses, expected.losses.unsqueeze(0), double_tolerance(of_steps));
  check_distance("buffers", exact.buffers, expected.buffers, double_tolerance(of_steps));
}

void check_single_precision(const Model& model, const SketchedCase& of, const Sketch& expected) {
  const torch::NoGradGuard no_gradient;
  const at::Tensor images = make_images(of, 0);
  for (const bool training : {false, true}) {
    CAPTURE(training);
    const auto run = [&](const at::Tensor& from) {
      return model.forward({.training = training}, {from})[0].to(torch::kDouble);
    };
    fill(model, torch::kDouble);
    const at::Tensor exact = run(images);
    perturb(model);
    const double effect = distance_of_rows(run(perturbed(images, -1)), exact);
    fill(model, torch::kFloat);
    check_distance("logits", run(images.to(torch::kFloat)), training ? expected.training_logits : expected.logits,
                   single_tolerance(effect));
  }
}

void check_published(const Model& model, const at::Tensor& images, const at::Tensor& logits) {
  const torch::NoGradGuard no_gradient;
  const auto run = [&](const at::Tensor& from) { return model.forward({}, {from})[0].to(torch::kDouble); };
  const at::Tensor found = run(images.to(torch::kFloat));
  for (const NamedTensor& named : model.tensors())
    if (named.tensor.is_floating_point()) named.tensor.set_data(named.tensor.to(torch::kDouble));
  const at::Tensor exact = run(images);
  perturb(model);
  check_distance("logits", found, logits, single_tolerance(distance_of_rows(run(perturbed(images, -1)), exact)));
}

double distance(const at::Tensor& found, const at::Tensor& expected) {
  REQUIRE(found.sizes() == expected.sizes());
  if (expected.numel() == 0) return 0;
  const at::Tensor expected_rows = expected.reshape({-1, expected.size(-1)});
  const at::Tensor difference = (found.detach().to(torch::kDouble).reshape_as(expected_rows) - expected_rows).abs();
  return (difference.amax(1) / expected_rows.abs().amax(1).clamp_min(1e-6)).max().item<double>();
}

void check_checkpointing(const std::function<Model()>& open, const at::Tensor& images, const std::string& node,
                         int64_t count) {
  std::vector<at::Tensor> gradients[2], buffers[2];
  for (const bool checkpoints : {false, true}) {
    torch::manual_seed(5);
    const Model model = open();
    const at::Tensor logits = model.forward({.training = true, .checkpoints_activations = checkpoints}, {images}).at(0);
    CHECK(count_nodes(logits, node) == (checkpoints ? 0 : count));
    logits.square().sum().backward();
    gradients[checkpoints] = gradients_of(model);
    buffers[checkpoints] = tensors_of(model, Which::buffers);
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) CHECK(torch::equal(gradients[0][i], gradients[1][i]));
  for (size_t i = 0; i < buffers[0].size(); ++i) CHECK(torch::equal(buffers[0][i], buffers[1][i]));
}

void check_tensors(const Model& model, int64_t parameters, const std::string& digest) {
  std::set<std::string> lines;
  int64_t found = 0;
  for (const auto& [name, tensor, trainable, is_frozen_parameter] : model.tensors()) {
    std::string extents;
    for (const int64_t extent : tensor.sizes()) extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
    const char* const dtype = tensor.scalar_type() == torch::kInt64 ? " int64 [" : " float32 [";
    lines.insert(name + dtype + extents + "]\n");
    found += trainable ? tensor.numel() : 0;
  }
  CHECK(found == parameters);
  std::string text;
  for (const std::string& line : lines) text += line;
  CHECK(support::sha256(text) == digest);
}

}  // namespace tenon::bundled
