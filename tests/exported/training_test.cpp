// Compares the training of exported models with PyTorch's. tests/parity/make_exported.py writes the reference.
#include <torch/types.h>

#include <map>
#include <set>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/pipeline/state/stored_tensors.h"
#include "framework/support/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/exported/archives.h"

using namespace tenon::exported;
using tenon::artifacts::SafetensorsFile;
using tenon::plugins::Model;
using tenon::plugins::NamedTensor;

namespace {

const bool kHasOneThread = (at::set_num_threads(1), true);

constexpr int64_t kBatches = 4;
const std::string kModels[] = {"mlp", "cnn", "residual", "encoder", "pair", "counter"};

class Reference {
 public:
  explicit Reference(std::string name)
      : name_(std::move(name)), file_(archive_path("exported").replace_extension(".safetensors")) {}

  bool has(const std::string& key) const { return file_.find(name_ + "." + key) != nullptr; }
  at::Tensor operator[](const std::string& key) const {
    const tenon::artifacts::TensorView* const found = file_.find(name_ + "." + key);
    REQUIRE_MESSAGE(found, "the reference has no " << name_ << "." << key);
    return tenon::pipeline::copy_stored(*found);
  }
  std::vector<at::Tensor> inputs(int64_t step) const {
    std::vector<at::Tensor> inputs;
    for (size_t i = 0; has(key(i, step)); ++i) inputs.push_back((*this)[key(i, step)]);
    return inputs;
  }
  // The names of state_dict().
  std::set<std::string> weights() const {
    const std::string prefix = name_ + ".final.";
    std::set<std::string> names;
    for (const auto& tensor : file_.tensors())
      if (tensor.name.starts_with(prefix)) names.insert(tensor.name.substr(prefix.size()));
    return names;
  }

 private:
  static std::string key(size_t i, int64_t step) {
    return "input." + std::to_string(i) + "." + std::to_string(step % kBatches);
  }

  const std::string name_;
  const SafetensorsFile file_;
};

double distance(const at::Tensor& found, const at::Tensor& expected) {
  REQUIRE(found.sizes() == expected.sizes());
  REQUIRE(found.scalar_type() == expected.scalar_type());
  if (found.numel() == 0) return 0;
  return (found.to(torch::kDouble) - expected.to(torch::kDouble)).abs().max().item<double>();
}

// Trains like train() of make_exported.py and returns the losses.
at::Tensor train(const Model& model, const Reference& reference) {
  std::map<std::string, at::Tensor> momenta;
  std::vector<at::Tensor> losses;
  const int64_t steps = reference["losses"].size(0);
  for (int64_t step = 0; step < steps; ++step) {
    at::Tensor loss = torch::zeros({});
    for (const at::Tensor& output : model.forward({.training = true, .step = step}, reference.inputs(step)))
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

void check_weights(const Model& model, const Reference& reference) {
  std::set<std::string> names;
  const auto check = [&](const NamedTensor& named) {
    CAPTURE(named.name);
    names.insert(named.name);
    CHECK(distance(named.tensor.detach(), reference["final." + named.name]) < 1e-5);
  };
  for (const NamedTensor& named : model.tensors()) check(named);
  for (const NamedTensor& tied : model.tied_tensors()) check(tied);
  CHECK(names == reference.weights());
}

void check_evaluation(const Model& model, const Reference& reference) {
  const torch::NoGradGuard no_gradient;
  const std::vector<at::Tensor> outputs = model.forward({.training = false}, reference.inputs(0));
  for (size_t i = 0; i < outputs.size(); ++i)
    CHECK(distance(outputs[i], reference["evaluated." + std::to_string(i)]) < 1e-5);
}

std::map<std::string, at::Tensor> copy_weights(const Model& model) {
  std::map<std::string, at::Tensor> copies;
  for (const NamedTensor& named : model.tensors()) copies[named.name] = named.tensor.detach().clone();
  return copies;
}

}  // namespace

TEST_CASE("exported models have PyTorch's losses, weights, buffers and outputs after training") {
  for (const std::string& name : kModels) {
    CAPTURE(name);
    const Reference reference(name);
    const Model model = open_archive(archive_path(name));
    CHECK(distance(train(model, reference), reference["losses"]) < 1e-5);
    check_weights(model, reference);
    check_evaluation(model, reference);
  }
}

TEST_CASE("a graph of train() alone trains the same, and its batch norm and dropout follow the mode") {
  const Reference reference("cnn");
  const Model model = open_archive(archive_path("cnn_train"));
  CHECK(distance(train(model, reference), reference["losses"]) < 1e-5);
  check_weights(model, reference);
  const auto before = copy_weights(model);
  check_evaluation(model, reference);
  for (const auto& [key, tensor] : copy_weights(model)) CHECK(torch::equal(tensor, before.at(key)));
}

TEST_CASE("a graph of eval() alone is switched to training") {
  Records records = read_records(archive_path("cnn"));
  records.erase("models/train.json");
  const Reference reference("cnn");
  const Model model = open_archive(write_records(records, "cnn_eval"));
  CHECK(distance(train(model, reference), reference["losses"]) < 1e-5);
  check_evaluation(model, reference);
}

TEST_CASE("a graph of train() alone that changes a buffer through a view is refused with its line of Python") {
  CHECK_THROWS_WITH_AS(open_archive(archive_path("counter_train")), doctest::Contains("make_exported.py\", line "),
                       tenon::support::Error);
  CHECK_THROWS_WITH_AS(open_archive(archive_path("counter_train")),
                       doctest::Contains("changes average in training, and cannot be switched to evaluation"),
                       tenon::support::Error);
}

TEST_CASE("ports have the names of forward's arguments and results, with the batch size as N") {
  const Model pair = open_archive(archive_path("pair"));
  CHECK(pair.inputs()[0].describe() == "left: float16/bfloat16/float32/float64 [N, 4]");
  CHECK(pair.inputs()[1].describe() == "right: float16/bfloat16/float32/float64 [N, 3]");
  CHECK(pair.outputs()[0].name == "sum");
  CHECK(pair.outputs()[1].describe() == "product: float16/bfloat16/float32/float64 [N, 5]");
  const Model encoder = open_archive(archive_path("encoder"), {{"outputs", std::vector<std::string>{"features"}}});
  CHECK(encoder.inputs()[0].describe() == "tokens: int64 [N, 5]");
  CHECK(encoder.outputs()[0].describe() == "features: float16/bfloat16/float32/float64 [N, 5, 8]");
  CHECK(open_archive(archive_path("mlp")).outputs()[0].name == "output");
}

TEST_CASE("tied weights are one tensor, and frozen parameters are not trained") {
  const Model pair = open_archive(archive_path("pair"));
  REQUIRE(pair.tied_tensors().size() == 1);
  CHECK(pair.tied_tensors()[0].name == "tied.weight");
  const Model counter = open_archive(archive_path("counter"));
  for (const NamedTensor& named : counter.tensors())
    CHECK(named.trainable == (named.name == "out.weight" || named.name == "out.bias"));
}

TEST_CASE("forward computes with the tensors of the frame, for any batch size") {
  const Model model = open_archive(archive_path("mlp"));
  const torch::NoGradGuard no_gradient;
  for (const int64_t rows : {1, 2, 7}) {
    const at::Tensor x = torch::randn({rows, 6});
    std::map<std::string, at::Tensor> weights;
    for (const NamedTensor& named : model.tensors()) weights[named.name] = named.tensor;
    const at::Tensor hidden = torch::relu(torch::linear(x, weights["hidden.weight"], weights["hidden.bias"]));
    const at::Tensor expected = torch::linear(hidden, weights["out.weight"], weights["out.bias"]);
    CHECK(torch::allclose(model.forward({}, {x}).at(0), expected));
    for (auto& [name, tensor] : weights) tensor.mul_(1.5);
  }
}

TEST_CASE("an operator that fails is reported with its node and its line of Python") {
  const Model model = open_archive(archive_path("mlp"));
  CHECK_THROWS_WITH_AS(
      model.forward({}, {torch::randn({2, 5})}),
      doctest::Contains("node linear (torch.ops.aten.linear.default), File \"make_exported.py\", line"),
      tenon::support::Error);
}
