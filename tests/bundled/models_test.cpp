// Compares outputs of the bundled native models with the same networks in PyTorch, and tests their ports.
#include <filesystem>

#include "framework/pipeline/build/load_weights.h"
#include "tests/bundled/opened_components.h"
#include "tests/bundled/rounding.h"
#include "tests/doctest_with_torch.h"

namespace models_test {

using namespace tenon::bundled;
using tenon::components::Model;
using tenon::components::NamedTensor;

namespace {

// A path has up to 20 operations, with sums over at most 3 x 3 pixels of 8 channels.
constexpr double kTolerance = worst_rounding(kSingleRoundoff, 20, 3 * 3 * 8);

const std::filesystem::path kReference = TENON_SOURCE_DIR "/tests/parity/reference";

std::vector<NamedTensor> make_tensors(const std::vector<std::pair<std::string, std::vector<int64_t>>>& shapes) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, shape] : shapes) tensors.push_back({name, torch::zeros(shape), false});
  return tensors;
}

// The example contains the inputs, then the outputs in evaluation mode, then those of a training step.
void check_example(const Model& model, const std::string& id, const std::vector<NamedTensor>& example) {
  tenon::pipeline::load_weights(kReference / (id + "_weights.safetensors"), model.tensors());
  tenon::pipeline::load_weights(kReference / (id + "_example.safetensors"), example);
  const size_t input_count = model.inputs().size();
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < input_count; ++i) inputs.push_back(example[i].tensor);
  size_t next = input_count;
  for (const bool training : {false, true}) {
    for (const at::Tensor& output : model.forward({.training = training}, inputs)) {
      CAPTURE(example[next].name);
      CHECK(largest_difference(output, example[next].tensor) < kTolerance);
      ++next;
    }
  }
  CHECK(next == example.size());
}

int64_t count_parameters(const Model& model) {
  int64_t count = 0;
  for (const NamedTensor& named : model.tensors()) count += named.trainable ? named.tensor.numel() : 0;
  return count;
}

}  // namespace

TEST_CASE("unet has the outputs of the same network in PyTorch, also for odd sizes") {
  const Model model = build_model("unet", {{"classes", int64_t{3}}, {"depth", int64_t{2}}, {"width", int64_t{2}}});
  check_example(
      model, "unet",
      make_tensors({{"image", {2, 3, 13, 10}}, {"logits", {2, 3, 13, 10}}, {"training.logits", {2, 3, 13, 10}}}));
}

TEST_CASE("unet has logits of the image's size for any size") {
  const Model model = build_model("unet", {{"depth", int64_t{3}}, {"width", int64_t{2}}, {"classes", int64_t{5}}});
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{16, 16}, {17, 15}, {1, 1}, {8, 1}, {33, 4}};
  for (const auto& size : sizes) {
    const int64_t height = size.first, width = size.second;
    CAPTURE(height);
    CAPTURE(width);
    const at::Tensor logits = model.forward({}, {torch::rand({2, 3, height, width})}).at(0);
    CHECK(logits.sizes().vec() == std::vector<int64_t>{2, 5, height, width});
  }
}

TEST_CASE("unet with the paper's depth and width has the parameters of the padded network with batch normalisation") {
  const Model model = build_model("unet", {{"width", int64_t{64}}});
  // The paper's network has 31.0 million parameters. This one has two more image channels, a scale per channel, and no
  // biases before batch normalisation.
  CHECK(count_parameters(model) == 31037698);
}

TEST_CASE("siamese_cnn has the outputs of the same network in PyTorch, also for images of two sizes") {
  const Model model = build_model("siamese_cnn", {{"width", int64_t{2}}, {"values", int64_t{2}}});
  check_example(model, "siamese_cnn",
                make_tensors({{"first", {2, 3, 16, 16}},
                              {"second", {2, 3, 9, 20}},
                              {"same", {2}},
                              {"values", {2, 2}},
                              {"training.same", {2}},
                              {"training.values", {2, 2}}}));
}

TEST_CASE("siamese_cnn has an output `values` only if there are values to predict") {
  Model model = open_model("siamese_cnn", {{"width", int64_t{2}}});
  REQUIRE(model.outputs().size() == 1);
  model.build();
  const std::vector<at::Tensor> outputs = model.forward({}, {torch::rand({4, 3, 8, 8}), torch::rand({4, 3, 8, 8})});
  REQUIRE(outputs.size() == 1);
  CHECK(outputs[0].sizes().vec() == std::vector<int64_t>{4});
}

TEST_CASE("siamese_cnn gives the same similarity if the two images are exchanged") {
  const Model model = build_model("siamese_cnn", {{"width", int64_t{2}}});
  const at::Tensor first = torch::rand({3, 3, 12, 12});
  const at::Tensor second = torch::rand({3, 3, 12, 12});
  CHECK(torch::equal(model.forward({}, {first, second}).at(0), model.forward({}, {second, first}).at(0)));
}

TEST_CASE("small_cnn has an output for numbers, in addition to the classes, on request") {
  const Model model =
      build_model("small_cnn", {{"width", int64_t{2}}, {"classes", int64_t{4}}, {"values", int64_t{3}}});
  const std::vector<at::Tensor> outputs = model.forward({}, {torch::rand({5, 1, 9, 12})});
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[0].sizes().vec() == std::vector<int64_t>{5, 4});
  CHECK(outputs[1].sizes().vec() == std::vector<int64_t>{5, 3});
  Model without = open_model("small_cnn", {{"width", int64_t{2}}});
  CHECK(without.outputs().size() == 1);
  without.build();
}

TEST_CASE("small_cnn has a convolution for each stage, with twice the channels") {
  for (const int64_t stages : {1, 3}) {
    CAPTURE(stages);
    const Model model = build_model("small_cnn", {{"width", int64_t{2}}, {"stages", stages}});
    // The convolutions have 1 to 2 channels, 2 to 2, 2 to 4, and for three stages also 4 to 8 and 8 to 16.
    const int64_t weights = stages == 1 ? 2 + 4 + 8 : 2 + 4 + 8 + 32 + 128;
    const int64_t channels = stages == 1 ? 2 + 2 + 4 : 2 + 2 + 4 + 8 + 16;
    const int64_t features = 4 * (stages == 1 ? 4 : 16);
    CHECK(count_parameters(model) == 9 * weights + 2 * channels + 10 * (features + 1));
    CHECK(model.forward({}, {torch::rand({1, 1, 8, 9})}).at(0).sizes().vec() == std::vector<int64_t>{1, 10});
  }
}

TEST_CASE("the bundled models with fixed sequences of operators can be captured") {
  for (const char* id :
       {"efficientnet", "gpt", "resnet", "seq2seq_transformer", "siamese_cnn", "small_cnn", "unet", "vit"}) {
    CAPTURE(id);
    CHECK(open_model(id).is_capturable());
  }
}

}  // namespace models_test
