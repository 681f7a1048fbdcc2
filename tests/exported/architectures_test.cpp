// Compares the training of small models of torchvision, timm, transformers and peft with PyTorch's.
// tests/parity/make_exported_architectures.py writes the reference; compare_exported.py compares larger ones.
#include <torch/types.h>

#include "framework/operators/batch_norm.h"
#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/exported/archives.h"
#include "tests/exported/reference.h"

namespace architectures_test {

using namespace tenon::exported;
using tenon::components::Model;
using tenon::components::NamedTensor;

namespace {

const bool kHasOneThread = (at::set_num_threads(1), true);

const std::string kModels[] = {"resnet", "efficientnet", "convnext",  "swin", "vit",   "deeplab", "densenet",
                               "bert",   "gpt2",         "gpt2_lora", "t5",   "llama", "whisper"};

// The reference is in float32, but training is in float64. The normalisation of t5 and llama is in float32, too: 24
// steps may add up its errors of 6e-8 relative.
constexpr double kLimit = 1e-5;

const std::filesystem::path kFolder = archive_folder().parent_path() / "exported_architectures";

Model open(const std::string& name) { return open_archive(kFolder / (name + ".pt2")); }

}  // namespace

TEST_CASE("architectures of libraries have PyTorch's losses, weights and outputs after training") {
  for (const std::string& name : kModels) {
    CAPTURE(name);
    const Reference reference(kFolder, name);
    const Model model = open(name);
    CHECK(distance(train(model, reference), reference.losses()) < kLimit);
    check_weights(model, reference, kLimit);
    check_evaluation(model, reference, kLimit);
  }
}

TEST_CASE("activation checkpointing of the repeated modules changes no loss, weight or buffer") {
  for (const std::string& name : kModels) {
    CAPTURE(name);
    const Reference reference(kFolder, name);
    const Model model = open(name);
    CHECK(distance(train(model, reference, /*checkpoints_activations=*/true), reference.losses()) < kLimit);
    check_weights(model, reference, kLimit);
  }
}

TEST_CASE("of a model with LoRA adapters only these are trained") {
  const Model model = open("gpt2_lora");
  int64_t trained = 0;
  for (const NamedTensor& named : model.tensors()) {
    CAPTURE(named.name);
    CHECK(named.trainable == (named.name.find(".lora_") != std::string::npos));
    trained += named.trainable ? 1 : 0;
  }
  CHECK(trained == 4);
}

// A run knows this message, and refuses such a batch before training: pipeline/checks/batch_norm_test.cpp.
TEST_CASE("batch norm with one value per channel is refused by its line, also within a repeated module") {
  const Model model = open("resnet");  // its last maps are 1 x 1
  const std::vector<at::Tensor> one{torch::rand({1, 3, 16, 16}, torch::kDouble)};
  const std::vector<at::Tensor> two{torch::rand({2, 3, 16, 16}, torch::kDouble)};
  const std::string message = std::string(tenon::operators::kOneValuePerChannel) + ", got input size [1, ";
  for (const std::string& part : {std::string("resnet.pt2: node "), message})
    CHECK_THROWS_WITH_AS(model.forward({.training = true}, one), doctest::Contains(part.c_str()),
                         tenon::support::Error);
  CHECK_NOTHROW(model.forward({.training = true}, two));
  CHECK_NOTHROW(model.forward({.training = false}, one));
}

}  // namespace architectures_test
