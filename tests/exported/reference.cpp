#include "tests/exported/reference.h"

#include <map>
#include <utility>

#include "framework/pipeline/state/saved_state.h"
#include "tests/doctest_with_torch.h"

namespace tenon::exported {

namespace {

using components::NamedTensor;

constexpr int64_t kBatches = 4;
// Inputs may be stored as int8 multiples of 1 / kScale, see make_exported_architectures.py.
constexpr double kScale = 32;

std::string input_key(size_t input, int64_t step) {
  return "input." + std::to_string(input) + "." + std::to_string(step % kBatches);
}

}  // namespace

Reference::Reference(const std::filesystem::path& folder, std::string name)
    : name_(std::move(name)), file_(folder / "exported.safetensors") {}

at::Tensor Reference::read(const std::string& key) const {
  const artifacts::TensorView* const found = file_.find(name_ + "." + key);
  REQUIRE_MESSAGE(found, "the reference has no " << name_ << "." << key);
  return pipeline::copy_stored(*found);
}

std::vector<at::Tensor> Reference::inputs(int64_t step) const {
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; file_.find(name_ + "." + input_key(i, step)); ++i) {
    const at::Tensor input = read(input_key(i, step));
    inputs.push_back(input.scalar_type() == torch::kChar ? input.to(torch::kDouble) / kScale : input);
  }
  return inputs;
}

std::set<std::string> Reference::weights() const {
  const std::string prefix = name_ + ".final.";
  std::set<std::string> names;
  for (const auto& tensor : file_.tensors())
    if (tensor.name.starts_with(prefix)) names.insert(tensor.name.substr(prefix.size()));
  return names;
}

double distance(const at::Tensor& found, const at::Tensor& expected) {
  REQUIRE(found.sizes() == expected.sizes());
  REQUIRE(found.is_floating_point() == expected.is_floating_point());
  if (found.numel() == 0) return 0;
  return (found.to(torch::kDouble) - expected.to(torch::kDouble)).abs().max().item<double>();
}

at::Tensor train(const components::Model& model, const Reference& reference, bool checkpoints_activations) {
  std::map<std::string, at::Tensor> momenta;
  std::vector<at::Tensor> losses;
  const int64_t steps = reference.losses().size(0);
  for (int64_t step = 0; step < steps; ++step) {
    components::StepContext context{.training = true, .step = step};
    context.checkpoints_activations = checkpoints_activations;
    torch::manual_seed(static_cast<uint64_t>(step));
    at::Tensor loss = torch::zeros({});
    for (const at::Tensor& output : model.forward(context, reference.inputs(step)))
      loss = loss + (output - 0.1).square().mean();
    loss.backward();
    losses.push_back(loss.detach());
    const torch::NoGradGuard no_gradient;
    for (const NamedTensor& named : model.tensors()) {
      at::Tensor tensor = named.tensor;
      if (!named.trainable || !tensor.grad().defined()) continue;
      at::Tensor& momentum = momenta[named.name];
      momentum = momentum.defined() ? momentum * 0.9 + tensor.grad() : tensor.grad().clone();
      tensor.sub_(momentum, 0.05);
      tensor.mutable_grad().reset();
    }
  }
  return torch::stack(losses);
}

void check_weights(const components::Model& model, const Reference& reference, double limit) {
  std::set<std::string> names;
  const auto check = [&](const NamedTensor& named) {
    CAPTURE(named.name);
    names.insert(named.name);
    CHECK(distance(named.tensor.detach(), reference.trained(named.name)) < limit);
  };
  for (const NamedTensor& named : model.tensors()) check(named);
  for (const NamedTensor& tied : model.tied_tensors()) check(tied);
  CHECK(names == reference.weights());
}

void check_evaluation(const components::Model& model, const Reference& reference, double limit) {
  const torch::NoGradGuard no_gradient;
  const std::vector<at::Tensor> outputs = model.forward({.training = false}, reference.inputs(0));
  for (size_t i = 0; i < outputs.size(); ++i) CHECK(distance(outputs[i], reference.evaluated(i)) < limit);
}

}  // namespace tenon::exported
