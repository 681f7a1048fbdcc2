// Compares vision transformers with torchvision's. tests/parity/make_vit.py writes the reference.
#include <torch/csrc/jit/serialization/import.h>

#include <cmath>
#include <map>
#include <sstream>

#include "framework/pipeline/build/load_weights.h"
#include "framework/pipeline/tools/trace_model.h"
#include "framework/support/diagnostics/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/bundled/rounding.h"
#include "tests/bundled/sketched_network.h"
#include "tests/doctest_with_torch.h"

namespace vit_test {

using namespace tenon::bundled;
using tenon::components::Model;
using tenon::components::NamedTensor;
using tenon::config::Values;

namespace {

// On a busy machine, more threads would spend their time waiting.
const bool kHasOneThread = (at::set_num_threads(1), true);

constexpr const char* kReference = "vit.safetensors";

struct Sizes {
  int64_t channels, image_size, patch_size, width, depth, heads, mlp_width;
};

struct Case {
  std::string name;
  Sizes sizes;
};

const Case kCases[] = {{"small", {3, 24, 4, 48, 3, 4, 96}}, {"grey", {1, 21, 7, 20, 2, 1, 33}}};
constexpr Sizes kPublished = {3, 16, 8, 24, 2, 3, 48};
constexpr Sizes kTiny = {3, 8, 4, 12, 3, 2, 20};

const Values kDrops = {{"dropout", 0.3}, {"attention_dropout", 0.4}, {"stochastic_depth", 0.6}};

Model open_vit(const Sizes& sizes, const Values& changes = {}) {
  return build_model("vit", merged({{"channels", sizes.channels},
                                    {"image_size", sizes.image_size},
                                    {"patch_size", sizes.patch_size},
                                    {"width", sizes.width},
                                    {"depth", sizes.depth},
                                    {"heads", sizes.heads},
                                    {"mlp_width", sizes.mlp_width},
                                    {"classes", kSketchClasses}},
                                   changes));
}

SketchedCase sketched(const Case& of) {
  return {of.name, {of.sizes.channels, of.sizes.image_size, of.sizes.image_size}};
}

using Tensors = std::map<std::string, at::Tensor>;

Tensors tensors_by_name(const Model& model) {
  Tensors tensors;
  for (const NamedTensor& named : model.tensors()) tensors[named.name] = named.tensor;
  return tensors;
}

// Computes the paper's equations 1 to 4, with torchvision's dropout. Uses LibTorch's generator like the model with
// kTiny and kDrops.
class DroppingReference {
 public:
  explicit DroppingReference(const Tensors& tensors) : tensors_(tensors) {}

  at::Tensor operator()(const at::Tensor& images) const {
    const int64_t rows = images.size(0);
    const at::Tensor grid = torch::conv2d(images, of("conv_proj.weight"), of("conv_proj.bias"), kTiny.patch_size);
    const at::Tensor patches = grid.reshape({rows, kTiny.width, -1}).permute({0, 2, 1});
    const at::Tensor tokens = torch::cat({of("class_token").expand({rows, 1, kTiny.width}), patches}, 1);
    at::Tensor x = torch::dropout(tokens + of("encoder.pos_embedding"), 0.3, true);
    for (int64_t i = 0; i < kTiny.depth; ++i)
      x = pass(x, "encoder.layers.encoder_layer_" + std::to_string(i) + ".",
               0.6 * static_cast<double>(i) / static_cast<double>(kTiny.depth - 1));
    return linear(normalise(x, "encoder.ln").slice(1, 0, 1).squeeze(1), "heads.head.");
  }

 private:
  const at::Tensor& of(const std::string& name) const { return tensors_.at(name); }

  at::Tensor linear(const at::Tensor& x, const std::string& name) const {
    return torch::linear(x, of(name + "weight"), of(name + "bias"));
  }

  at::Tensor normalise(const at::Tensor& x, const std::string& name) const {
    return torch::layer_norm(x, {kTiny.width}, of(name + ".weight"), of(name + ".bias"), 1e-6);
  }

  at::Tensor attend(const at::Tensor& x, const std::string& name) const {
    std::vector<at::Tensor> parts = linear(x, name + "in_proj_").chunk(3, 2);
    for (at::Tensor& part : parts) part = part.reshape({x.size(0), x.size(1), kTiny.heads, -1}).transpose(1, 2);
    const double scale = 1 / std::sqrt(static_cast<double>(kTiny.width / kTiny.heads));
    const at::Tensor weights = torch::softmax(parts[0].matmul(parts[1].transpose(2, 3)) * scale, 3);
    const at::Tensor seen = torch::dropout(weights, 0.4, true).matmul(parts[2]);
    return linear(seen.transpose(1, 2).reshape(x.sizes()), name + "out_proj.");
  }

  at::Tensor leave_out(const at::Tensor& branch, double probability) const {
    const at::Tensor dropped = torch::dropout(branch, 0.3, true);
    if (probability == 0) return dropped;
    return dropped * torch::empty({branch.size(0), 1, 1}, branch.options()).bernoulli_(1 - probability) /
           (1 - probability);
  }

  at::Tensor pass(const at::Tensor& x, const std::string& name, double drop) const {
    const at::Tensor sum = x + leave_out(attend(normalise(x, name + "ln_1"), name + "self_attention."), drop);
    const at::Tensor hidden = torch::gelu(linear(normalise(sum, name + "ln_2"), name + "mlp.0."));
    return sum + leave_out(linear(torch::dropout(hidden, 0.3, true), name + "mlp.3."), drop);
  }

  const Tensors& tensors_;
};

// Fills a model of two blocks. The second block then has only the branch of its MLP, scaled by `factor`.
void scale_last_branch(const Model& model, double factor) {
  fill(model, torch::kDouble);
  for (const NamedTensor& named : model.tensors()) {
    if (named.name.find("layer_1.self_attention.out_proj") != std::string::npos) named.tensor.zero_();
    if (named.name.find("layer_1.mlp.3") != std::string::npos) named.tensor.mul_(factor);
  }
}

}  // namespace

// In single precision, only the logits are compared.
TEST_CASE("vit has torchvision's logits and gradients") {
  for (const Case& of : kCases) {
    CAPTURE(of.name);
    const Sketch expected = read_sketch(kReference, sketched(of));
    check_evaluation(open_vit(of.sizes, kDrops), sketched(of), expected);
    check_training(open_vit(of.sizes), sketched(of), expected);
    check_single_precision(open_vit(of.sizes), sketched(of), expected);
  }
}

TEST_CASE("vit has torchvision's tensors in each variant, so that its weights load") {
  struct Inventory {
    std::string variant;
    int64_t width, mlp_width, depth, parameters;
    std::string digest;
  };
  const Inventory inventories[] = {
#include "tests/parity/reference/vit_tensors.inc"
  };
  for (const Inventory& inventory : inventories) {
    CAPTURE(inventory.variant);
    CAPTURE(inventory.depth);
    const Model model = build_model("vit", {{"variant", inventory.variant},
                                            {"width", inventory.width},
                                            {"mlp_width", inventory.mlp_width},
                                            {"depth", inventory.depth}});
    check_tensors(model, inventory.parameters, inventory.digest);
  }
}

TEST_CASE("vit loads trained weights of torchvision from a file in half precision") {
  const Model model = open_vit(kPublished);
  tenon::pipeline::load_weights(TENON_SOURCE_DIR "/tests/parity/reference/vit_published.safetensors", model.tensors());
  check_published(model, make_images({"published", {3, 16, 16}}, 0), read_values(kReference, "published.logits"));
}

TEST_CASE("vit is initialised with torchvision's distributions") {
  torch::manual_seed(1);
  const Model model = open_vit({3, 32, 16, 96, 1, 3, 192});
  const auto is_normal = [](const at::Tensor& tensor, double deviation) {
    const double found = tensor.std().item<double>() / deviation;
    return std::abs(found - 1) < 5 / std::sqrt(2 * static_cast<double>(tensor.numel())) &&
           tensor.abs().max().item<double>() > 2 * deviation;
  };
  const auto is_uniform = [](const at::Tensor& tensor, double bound) {
    const double most = tensor.abs().max().item<double>();
    return most <= bound * (1 + 1e-6) && most > 0.99 * bound &&
           std::abs(tensor.std().item<double>() / bound - 0.577) < 0.01;
  };
  for (const NamedTensor& named : model.tensors()) {
    CAPTURE(named.name);
    const at::Tensor& tensor = named.tensor;
    const auto glorot = [&] { return std::sqrt(6.0 / static_cast<double>(tensor.size(0) + tensor.size(1))); };
    if (named.name == "conv_proj.weight") {
      CHECK(is_normal(tensor, 1 / std::sqrt(3.0 * 16 * 16)));
    } else if (named.name == "encoder.pos_embedding") {
      CHECK(is_normal(tensor, 0.02));
    } else if (named.name.ends_with("in_proj_weight") ||
               (named.name.ends_with(".weight") && named.name.find(".mlp.") != std::string::npos)) {
      CHECK(is_uniform(tensor, glorot()));
    } else if (named.name.ends_with("out_proj.weight")) {
      CHECK(is_uniform(tensor, 1 / std::sqrt(96.0)));
    } else if (named.name.find(".mlp.") != std::string::npos) {
      CHECK(is_normal(tensor, 1e-6));
    } else {
      const bool is_norm = named.name.find("ln") != std::string::npos;
      CHECK(tensor.eq(is_norm && named.name.ends_with(".weight") ? 1 : 0).all().item<bool>());
    }
  }
}

TEST_CASE("vit applies torchvision's dropout, and stochastic depth that drops deeper branches more often") {
  const torch::NoGradGuard no_gradient;
  const Model model = open_vit(kTiny, kDrops);
  fill(model, torch::kDouble);
  const at::Tensor images = torch::rand({16, 3, 8, 8}, torch::kDouble);
  torch::manual_seed(7);
  const at::Tensor found = model.forward({.training = true}, {images})[0];
  const Tensors tensors = tensors_by_name(model);
  torch::manual_seed(7);
  const at::Tensor expected = DroppingReference(tensors)(images);
  torch::manual_seed(7);
  const double effect = distance(DroppingReference(tensors)(perturbed(images, 0)), expected);
  CHECK(distance(found, expected) < double_tolerance(effect));
  CHECK(distance(found, model.forward({}, {images})[0]) > 1e-3);
}

TEST_CASE("stochastic depth of vit drops a branch for whole samples, and keeps the expectation") {
  const torch::NoGradGuard no_gradient;
  constexpr int64_t kRows = 400;
  const double drop = 0.75;  // drop probability of the second block; that of the first is 0
  Sizes sizes = kTiny;
  sizes.depth = 2;
  const Model model = open_vit(sizes, {{"stochastic_depth", drop}});
  const at::Tensor images = torch::rand({1, 3, 8, 8}, torch::kDouble).expand({kRows, 3, 8, 8});
  scale_last_branch(model, 0);
  const at::Tensor without = model.forward({}, {images})[0];
  scale_last_branch(model, 1 / (1 - drop));
  const at::Tensor scaled = model.forward({}, {images})[0];
  scale_last_branch(model, 1);
  torch::manual_seed(1);
  const at::Tensor logits = model.forward({.training = true}, {images})[0];
  // Rows of one batch may take different code paths, and then differ by rounding, which is far smaller than a branch.
  const double size = scaled.abs().max().item<double>();
  const double tolerance =
      size * double_tolerance(distance(model.forward({}, {perturbed(images, 0)})[0], model.forward({}, {images})[0]));
  CHECK((scaled - without).abs().amax(1).min().item<double>() > size * 1e-3);
  const at::Tensor is_dropped = (logits - without).abs().amax(1).lt(tolerance);
  const at::Tensor is_kept = (logits - scaled).abs().amax(1).lt(tolerance);
  CHECK(is_dropped.logical_xor(is_kept).all().item<bool>());
  CHECK(std::abs(is_kept.sum().item<double>() - kRows * (1 - drop)) < 4 * std::sqrt(kRows * drop * (1 - drop)));
}

TEST_CASE("activation checkpointing of vit recomputes its blocks, with the same dropout") {
  const auto open = [] {
    Model model = open_vit(kTiny, kDrops);
    fill(model, torch::kFloat);
    return model;
  };
  check_checkpointing(open, torch::rand({3, 3, 8, 8}), "GeluBackward0", kTiny.depth);
}

TEST_CASE("vit accepts any batch size as TorchScript") {
  const torch::NoGradGuard no_gradient;
  const Model model = open_vit(kTiny);
  fill(model, torch::kFloat);
  std::istringstream bytes(tenon::pipeline::trace_model(model, {{torch::rand({4, 3, 8, 8})}}));
  const at::Tensor images = torch::rand({7, 3, 8, 8});
  CHECK(torch::allclose(torch::jit::load(bytes).forward({images}).toTensor(), model.forward({}, {images})[0]));
}

TEST_CASE("vit rejects a width not divisible by heads, and an image size not divisible by patches") {
  CHECK_THROWS_WITH_AS(open_model("vit", {{"heads", int64_t{5}}}),
                       doctest::Contains("width = 768 with heads = 5; expected a width that is a multiple of heads"),
                       tenon::support::Error);
  CHECK_THROWS_WITH_AS(
      open_model("vit", {{"image_size", int64_t{225}}}),
      doctest::Contains("image_size = 225 with patches of 16 pixels; expected a multiple, such as 240"),
      tenon::support::Error);
}

}  // namespace vit_test
