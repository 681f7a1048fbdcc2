// Compares EfficientNets with torchvision's. tests/parity/make_efficientnet.py writes the reference.
#include <torch/csrc/jit/serialization/import.h>

#include <cmath>
#include <sstream>

#include "framework/pipeline/build/load_weights.h"
#include "framework/pipeline/tools/trace_model.h"
#include "tests/bundled/opened_components.h"
#include "tests/bundled/rounding.h"
#include "tests/bundled/sketched_network.h"
#include "tests/doctest_with_torch.h"

namespace efficientnet_test {

using namespace tenon::bundled;
using tenon::components::Model;
using tenon::components::NamedTensor;
using tenon::config::Values;

namespace {

// On a busy machine, more threads would spend their time waiting.
const bool kHasOneThread = (at::set_num_threads(1), true);

constexpr const char* kReference = "efficientnet.safetensors";

struct Case {
  SketchedCase sketched;
  std::string variant;
  double width, depth;
};

const Case kCases[] = {{{"b0", {3, 37, 37}}, "b0", 0, 0}, {{"b5_narrow", {1, 64, 64}}, "b5", 0.3, 1.4}};

Model open_efficientnet(const Values& changes) {
  return build_model("efficientnet", merged({{"classes", kSketchClasses}}, changes));
}

Model open_case(const Case& of, Values changes = {}) {
  changes["variant"] = of.variant;
  changes["channels"] = of.sketched.image[0];
  changes["width"] = of.width;
  changes["depth"] = of.depth;
  return open_efficientnet(changes);
}

// Disables dropout and stochastic depth.
Model open_deterministic(const Case& of) { return open_case(of, {{"dropout", 0.0}, {"stochastic_depth", 0.0}}); }

const at::Tensor& tensor_of(const Model& model, const std::string& name) {
  for (const NamedTensor& named : model.tensors())
    if (named.name == name) return named.tensor;
  FAIL("no tensor " << name);
  std::abort();
}

// A block that stochastic depth drops for some samples, and the running mean of the batch norm after it.
struct DroppedBlock {
  std::string name;
  int64_t number;  // out of kBlocks
  std::string mean_after;
  int normalisations;  // number of normalisations between the block and the logits
};

constexpr int64_t kBlocks = 16;  // blocks of B0
constexpr int64_t kRows = 256;

struct DroppedRows {
  at::Tensor logits, mean;
};

// Rows of one batch may take different code paths, such as vector instructions and the loop for the last rows, and then
// differ by rounding. A normalisation preserves the ratio of rounding to the difference between rows with and without
// the block. The SiLU after it may shrink that difference more than rounding. For example, if a fifth of the rows lacks
// the block, the normalised values are -2 and 0.5: their difference shrinks from 2.5 to 0.55 at a slope of 0.74, a
// factor of 3.4.
constexpr double kGain = 4;  // relative growth of rounding for each normalisation
double tolerance_of_logits(const DroppedBlock& block) {
  return kSpread * kDoubleRoundoff * std::pow(kGain, block.normalisations);
}

// The block outputs `value` for all pixels and channels, so that only stochastic depth makes its output random. Blocks
// before it output zero: all rows reach it with the same bits, whatever code computes them. Blocks after it with a
// residual connection output zero, too. Blocks without one propagate the difference.
DroppedRows run_dropped(const DroppedBlock& block, double value, double stochastic_depth) {
  torch::manual_seed(1);
  const Model model = open_efficientnet({{"width", 0.25}, {"dropout", 0.0}, {"stochastic_depth", stochastic_depth}});
  const torch::NoGradGuard no_gradient;
  bool is_before = true;
  for (const NamedTensor& named : model.tensors()) {
    if (named.tensor.is_floating_point()) named.tensor.set_data(named.tensor.to(torch::kDouble));
    is_before = is_before && !named.name.starts_with(block.name + ".");
    const bool is_last_scale =
        named.name.ends_with(".block.3.1.weight") || named.name == "features.1.0.block.2.1.weight";
    const bool is_residual = named.name.find(".0.block") == std::string::npos;
    if (is_last_scale && (is_before || is_residual)) named.tensor.zero_();
  }
  tensor_of(model, block.name + ".block.3.1.bias").fill_(value);
  const at::Tensor images = torch::rand({1, 3, 9, 9}, torch::kDouble).expand({kRows, 3, 9, 9});
  const at::Tensor logits = model.forward({.training = true}, {images})[0];
  return {logits, tensor_of(model, block.mean_after)};
}

}  // namespace

// In single precision, only the logits are compared.
TEST_CASE("efficientnet has torchvision's logits, gradients, and buffers after some training") {
  for (const Case& of : kCases) {
    CAPTURE(of.sketched.name);
    const Sketch expected = read_sketch(kReference, of.sketched);
    check_evaluation(open_case(of), of.sketched, expected);
    check_training(open_deterministic(of), of.sketched, expected);
    check_single_precision(open_deterministic(of), of.sketched, expected);
  }
}

TEST_CASE("efficientnet has torchvision's tensors in each variant, so that its weights load") {
  struct Inventory {
    std::string variant;
    int64_t parameters;
    std::string digest;
  };
  const Inventory inventories[] = {
#include "tests/parity/reference/efficientnet_tensors.inc"
  };
  for (const Inventory& inventory : inventories) {
    CAPTURE(inventory.variant);
    const Model model = build_model("efficientnet", {{"variant", inventory.variant}});
    check_tensors(model, inventory.parameters, inventory.digest);
  }
}

TEST_CASE("efficientnet loads trained weights of torchvision from a file in half precision") {
  const Model model = open_efficientnet({{"variant", "b5"}, {"width", 0.25}, {"depth", 0.4}});
  tenon::pipeline::load_weights(TENON_SOURCE_DIR "/tests/parity/reference/efficientnet_published.safetensors",
                                model.tensors());
  check_published(model, make_images({"published", {3, 40, 40}}, 0), read_values(kReference, "published.logits"));
}

TEST_CASE("efficientnet is initialised with torchvision's distributions") {
  torch::manual_seed(1);
  const Model model = build_model("efficientnet", {{"classes", int64_t{100}}});
  for (const NamedTensor& named : model.tensors()) {
    CAPTURE(named.name);
    const at::Tensor& tensor = named.tensor;
    if (tensor.dim() == 4) {
      const auto fan_out = static_cast<double>(tensor.size(0) * tensor.size(2) * tensor.size(3));
      const at::Tensor normal = tensor * std::sqrt(fan_out / 2);
      // Allows five standard deviations of the sample standard deviation.
      CHECK(std::abs(normal.std().item<double>() - 1) < 5 / std::sqrt(2 * static_cast<double>(tensor.numel())));
      // A uniform distribution would end at 1.7 standard deviations.
      CHECK(normal.abs().max().item<double>() > 2);
    } else if (named.name == "classifier.1.weight") {
      CHECK(tensor.abs().max().item<double>() <= 0.1);
      CHECK(tensor.abs().max().item<double>() > 0.098);
    } else {
      const bool is_one = named.name.ends_with(".weight") || named.name.ends_with(".running_var");
      CHECK(tensor.eq(is_one ? 1 : 0).all().item<bool>());
    }
  }
}

TEST_CASE("stochastic depth of efficientnet drops deeper blocks more often, and keeps the expectation") {
  for (const DroppedBlock& block : {DroppedBlock{"features.3.1", 4, "features.4.0.block.0.1.running_mean", 13},
                                    DroppedBlock{"features.6.3", 14, "features.7.0.block.0.1.running_mean", 4}}) {
    CAPTURE(block.name);
    const at::Tensor without = run_dropped(block, 0, 0).mean;
    const at::Tensor whole = run_dropped(block, 1, 0).mean - without;
    const DroppedRows dropped = run_dropped(block, 1, 0.8);
    const at::Tensor rest = dropped.mean - without;
    // The next layer is linear, so its mean scales with the mean of the rows' factors.
    const double mean_factor = (rest.dot(whole) / whole.dot(whole)).item<double>();
    const double of_sums = kSpread * kRows * kDoubleRoundoff;  // means are sums over all rows
    CHECK(distance(rest.unsqueeze(0), whole.unsqueeze(0) * mean_factor) < of_sums);
    const double drop = 0.8 * static_cast<double>(block.number) / kBlocks;
    const double kept = mean_factor * kRows * (1 - drop);
    CHECK(std::abs(kept - std::round(kept)) < kRows * of_sums);
    CHECK(std::abs(kept - kRows * (1 - drop)) < 4 * std::sqrt(kRows * drop * (1 - drop)));
    // Rows with the block differ from each other only by rounding, and so do rows without it.
    const at::Tensor difference = (dropped.logits - dropped.logits[0]).abs().amax(1);
    const double scale = dropped.logits.abs().max().item<double>();
    const at::Tensor is_alike = difference.lt(scale * tolerance_of_logits(block));
    const auto alike = is_alike.sum().item<int64_t>();
    CHECK((alike == std::lround(kept) || alike == kRows - std::lround(kept)));
    CHECK(difference.masked_select(is_alike.logical_not()).min().item<double>() > scale * 1e-2);
  }
}

TEST_CASE("efficientnet in training drops features before the classifier with the probability of its variant") {
  const torch::NoGradGuard no_gradient;
  const std::vector<std::pair<Values, double>> drops = {
      {{}, 0.2}, {{{"variant", "b5"}}, 0.4}, {{{"dropout", 0.75}}, 0.75}};
  for (const auto& [changes, drop] : drops) {
    const double probability = drop;  // clang cannot capture structured bindings
    CAPTURE(probability);
    std::vector<at::Tensor> features;
    for (const bool drops_any : {false, true}) {
      Values params =
          merged({{"width", 0.25}, {"depth", 0.4}, {"stochastic_depth", 0.0}, {"classes", int64_t{256}}}, changes);
      if (!drops_any) params["dropout"] = 0.0;
      torch::manual_seed(1);
      const Model model = open_efficientnet(params);
      const at::Tensor weight = tensor_of(model, "classifier.1.weight");
      weight.copy_(torch::eye(weight.size(0), weight.size(1)));
      features.push_back(model.forward({.training = true}, {torch::rand({16, 3, 40, 40})})[0]);
    }
    const at::Tensor is_kept = features[1].ne(0);
    CHECK(torch::allclose(features[1], features[0] / (1 - probability) * is_kept));
    const double count = static_cast<double>(is_kept.numel());
    CHECK(std::abs(is_kept.sum().item<double>() - count * (1 - probability)) <
          5 * std::sqrt(count * probability * (1 - probability)));
  }
}

TEST_CASE("activation checkpointing of efficientnet recomputes all but the classifier, with the same dropout") {
  check_checkpointing(
      [] {
        return open_efficientnet({{"width", 0.25}, {"stochastic_depth", 0.8}});
      },
      torch::rand({3, 3, 40, 37}), "ConvolutionBackward0", 81);
}

TEST_CASE("efficientnet accepts images of any size, and any batch size as TorchScript") {
  const torch::NoGradGuard no_gradient;
  const Model model = open_efficientnet({{"width", 0.25}, {"channels", int64_t{2}}});
  std::istringstream bytes(tenon::pipeline::trace_model(model, {{torch::rand({4, 2, 33, 20})}}));
  torch::jit::Module module = torch::jit::load(bytes);
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 1}, {7, 2}, {33, 20}};
  for (const auto& [height, width] : sizes) {
    const int64_t image_height = height;
    CAPTURE(image_height);
    const at::Tensor images = torch::rand({2, 2, height, width});
    const at::Tensor logits = model.forward({}, {images})[0];
    CHECK(logits.sizes() == at::IntArrayRef({2, kSketchClasses}));
    CHECK(torch::allclose(module.forward({images}).toTensor(), logits));
  }
}

}  // namespace efficientnet_test
