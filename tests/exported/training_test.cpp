// Compares the training of exported models with PyTorch's. tests/parity/make_exported.py writes the reference.
#include <torch/types.h>

#include <map>

#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/exported/archives.h"
#include "tests/exported/reference.h"

namespace training_test {

using namespace tenon::exported;
using tenon::components::Model;
using tenon::components::NamedTensor;

namespace {

const bool kHasOneThread = (at::set_num_threads(1), true);

const std::string kModels[] = {"mlp", "cnn", "residual", "encoder", "pair", "counter", "dropped"};

constexpr double kLimit = 1e-5;

Reference reference_of(const std::string& name) { return Reference(archive_folder(), name); }

std::map<std::string, at::Tensor> copy_weights(const Model& model) {
  std::map<std::string, at::Tensor> copies;
  for (const NamedTensor& named : model.tensors()) copies[named.name] = named.tensor.detach().clone();
  return copies;
}

}  // namespace

TEST_CASE("exported models have PyTorch's losses, weights, buffers and outputs after training") {
  for (const std::string& name : kModels) {
    CAPTURE(name);
    const Reference reference = reference_of(name);
    const Model model = open_archive(archive_path(name));
    CHECK(distance(train(model, reference), reference.losses()) < kLimit);
    check_weights(model, reference, kLimit);
    check_evaluation(model, reference, kLimit);
  }
}

TEST_CASE("a graph of train() alone trains the same, and its batch norm and dropout follow the mode") {
  const Reference reference = reference_of("cnn");
  const Model model = open_archive(archive_path("cnn_train"));
  CHECK(distance(train(model, reference), reference.losses()) < kLimit);
  check_weights(model, reference, kLimit);
  const auto before = copy_weights(model);
  check_evaluation(model, reference, kLimit);
  for (const auto& [key, tensor] : copy_weights(model)) CHECK(torch::equal(tensor, before.at(key)));
}

TEST_CASE("a graph of eval() alone is switched to training") {
  Records records = read_records(archive_path("cnn"));
  records.erase("models/train.json");
  const Reference reference = reference_of("cnn");
  const Model model = open_archive(write_records(records, "cnn_eval"));
  CHECK(distance(train(model, reference), reference.losses()) < kLimit);
  check_evaluation(model, reference, kLimit);
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

}  // namespace training_test
