#include "tests/bundled/sketched_network.h"

#include <torch/csrc/autograd/function.h>

#include <cmath>
#include <set>

#include "framework/artifacts/safetensors.h"
#include "framework/pipeline/stored_tensors.h"
#include "framework/support/sha256.h"
#include "tests/bundled/scattered_numbers.h"
#include "tests/doctest_with_torch.h"

namespace tenon::bundled {

using plugins::Model;
using plugins::NamedTensor;

namespace {

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

// A row for each tensor: its norm and three of its elements.
at::Tensor sketch(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return torch::zeros({0, 4}, torch::kDouble);
  std::vector<at::Tensor> rows;
  for (const at::Tensor& tensor : tensors) rows.push_back(bundled::sketch(tensor));
  return torch::stack(rows);
}

}  // namespace

at::Tensor read_figures(const std::string& file, const std::string& name) {
  const artifacts::SafetensorsFile stored(TENON_SOURCE_DIR "/tests/parity/reference/" + file);
  const artifacts::TensorView* const found = stored.find(name);
  REQUIRE_MESSAGE(found, file << " has no " << name);
  return pipeline::copy_stored(*found);
}

Sketch read_sketch(const std::string& file, const SketchedCase& of) {
  const auto read = [&](const char* figures) { return read_figures(file, of.name + figures); };
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

void check_evaluation(const Model& model, const SketchedCase& of, const Sketch& expected) {
  const torch::NoGradGuard no_gradient;
  fill(model, torch::kDouble);
  CHECK(distance(model.forward({}, {make_images(of, 0)})[0], expected.logits) < 1e-9);
}

void check_training(const Model& model, const SketchedCase& of, const Sketch& expected) {
  fill(model, torch::kDouble);
  std::vector<double> losses;
  for (int64_t step = 0; step < kSteps; ++step) {
    const at::Tensor logits = model.forward({.training = true, .step = step}, {make_images(of, step)})[0];
    const at::Tensor loss = torch::cross_entropy_loss(logits, make_labels(step));
    loss.backward();
    losses.push_back(loss.item<double>());
    if (step == 0) {
      CHECK(distance(logits, expected.training_logits) < 1e-9);
      CHECK(distance(sketch(gradients_of(model)), expected.gradients) < 1e-9);
    }
    const torch::NoGradGuard no_gradient;
    for (const at::Tensor& parameter : tensors_of(model, Which::parameters)) {
      parameter.sub_(parameter.grad() * kRate);
      parameter.mutable_grad().reset();
    }
  }
  CHECK(distance(torch::tensor(losses, torch::kDouble), expected.losses) < 1e-9);
  CHECK(distance(sketch(tensors_of(model, Which::buffers)), expected.buffers) < 1e-9);
}

void check_single_precision(const Model& model, const SketchedCase& of, const Sketch& expected) {
  const torch::NoGradGuard no_gradient;
  fill(model, torch::kFloat);
  const at::Tensor images = make_images(of, 0).to(torch::kFloat);
  CHECK(distance(model.forward({}, {images})[0], expected.logits) < 1e-5);
  CHECK(distance(model.forward({.training = true}, {images})[0], expected.training_logits) < 1e-5);
}

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

double distance(const at::Tensor& found, const at::Tensor& expected) {
  REQUIRE(found.sizes() == expected.sizes());
  if (expected.numel() == 0) return 0;
  const at::Tensor wanted = expected.reshape({-1, expected.size(-1)});
  const at::Tensor difference = (found.detach().to(torch::kDouble).reshape_as(wanted) - wanted).abs();
  return (difference.amax(1) / wanted.abs().amax(1).clamp_min(1e-6)).max().item<double>();
}

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

void check_tensors(const Model& model, int64_t parameters, const std::string& digest) {
  std::set<std::string> lines;
  int64_t found = 0;
  for (const auto& [name, tensor, trainable] : model.tensors()) {
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
