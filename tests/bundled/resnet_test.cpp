// The residual networks against torchvision's: figures by tests/parity/make_resnet.py, of weights and images that both
// sides take from a formula.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "framework/artifacts/safetensors.h"
#include "framework/pipeline/load_weights.h"
#include "framework/support/error.h"
#include "framework/support/sha256.h"
#include "tests/bundled/opened_components.h"
#include "tests/doctest_with_torch.h"

using namespace tenon::bundled;
using tenon::plugins::Model;
using tenon::plugins::NamedTensor;

namespace {

// More of them wait longer than they compute, where something else runs.
const bool kHasOneThread = (at::set_num_threads(1), true);

constexpr int64_t kClasses = 5;
constexpr int64_t kBatch = 4;
constexpr int64_t kSteps = 5;
constexpr double kRate = 1e-3;

struct Case {
  std::string name;
  int64_t depth, channels, size, width;
  std::string stem;
  int64_t parameters, buffers;
};

const Case kCases[] = {{"imagenet18", 18, 3, 20, 64, "imagenet", 62, 60},
                       {"imagenet50", 50, 3, 40, 8, "imagenet", 161, 159},
                       {"cifar18", 18, 1, 11, 8, "cifar", 62, 60}};

// scatter(), fill() and make_batch() of make_resnet.py.
at::Tensor scatter(at::IntArrayRef shape, int64_t salt) {
  const at::Tensor index = torch::arange(c10::multiply_integers(shape));
  const at::Tensor numbers = (index * index * 31 + index * 17 + salt * 101).remainder(65521);
  return (numbers.to(torch::kDouble) / 65521 - 0.5).reshape(shape);
}

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

struct Batch {
  at::Tensor images, labels;
};

Batch make_batch(const Case& of, int64_t step) {
  return {scatter({kBatch, of.channels, of.size, of.size}, 1000 + step) * 3,
          (torch::arange(kBatch) * 3 + step).remainder(kClasses)};
}

Model open_resnet(const Case& of) {
  Model model = open_model(
      "resnet",
      {{"depth", of.depth}, {"channels", of.channels}, {"classes", kClasses}, {"stem", of.stem}, {"width", of.width}});
  model.build();
  return model;
}

Model make_network(const Case& of, torch::Dtype dtype) {
  Model model = open_resnet(of);
  const torch::NoGradGuard no_gradient;
  for (size_t i = 0; i < model.tensors().size(); ++i) {
    const NamedTensor& named = model.tensors()[i];
    const at::Tensor values = make_values(named, static_cast<int64_t>(i));
    named.tensor.set_data(named.tensor.is_floating_point() ? values.to(dtype) : values);
  }
  return model;
}

// A row for each tensor: its norm and three of its elements.
at::Tensor sketch(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> rows;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor flat = tensor.detach().to(torch::kDouble).flatten();
    rows.push_back(torch::stack({flat.norm(), flat[0], flat[flat.numel() / 2], flat[-1]}));
  }
  return torch::stack(rows);
}

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

struct Expected {
  at::Tensor logits, training_logits, gradients, buffers, losses;
};

Expected read_expected(const Case& wanted) {
  std::vector<NamedTensor> all;
  Expected expected;
  for (const Case& of : kCases) {
    const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
      all.push_back({of.name + "." + name, torch::zeros(shape, torch::kDouble), false});
      return all.back().tensor;
    };
    const Expected found = {add("logits", {kBatch, kClasses}), add("training.logits", {kBatch, kClasses}),
                            add("gradients", {of.parameters, 4}), add("buffers", {of.buffers, 4}),
                            add("losses", {kSteps})};
    if (of.name == wanted.name) expected = found;
  }
  tenon::pipeline::load_weights(TENON_SOURCE_DIR "/tests/parity/reference/resnet.safetensors", all);
  return expected;
}

// The largest difference of a row, in parts of the largest number that the row should have.
double distance(const at::Tensor& found, const at::Tensor& expected) {
  REQUIRE(found.sizes() == expected.sizes());
  const at::Tensor wanted = expected.reshape({-1, expected.size(-1)});
  const at::Tensor difference = (found.detach().to(torch::kDouble).reshape_as(wanted) - wanted).abs();
  return (difference.amax(1) / wanted.abs().amax(1)).max().item<double>();
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

Model make_small(const tenon::config::Values& changes = {}) {
  tenon::config::Values params = {{"width", int64_t{4}}, {"classes", kClasses}};
  for (const auto& [name, value] : changes) params[name] = value;
  Model model = open_model("resnet", params);
  model.build();
  return model;
}

}  // namespace

TEST_CASE("resnet in double precision gives torchvision's logits, gradients, and buffers after some training") {
  for (const Case& of : kCases) {
    CAPTURE(of.name);
    const Expected expected = read_expected(of);
    const Model model = make_network(of, torch::kDouble);
    {
      const torch::NoGradGuard no_gradient;
      CHECK(distance(model.forward({}, {make_batch(of, 0).images})[0], expected.logits) < 1e-9);
    }
    std::vector<double> losses;
    for (int64_t step = 0; step < kSteps; ++step) {
      const Batch batch = make_batch(of, step);
      const at::Tensor logits = model.forward({.training = true, .step = step}, {batch.images})[0];
      const at::Tensor loss = torch::cross_entropy_loss(logits, batch.labels);
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
}

TEST_CASE("resnet in single precision gives torchvision's logits") {
  const torch::NoGradGuard no_gradient;
  for (const Case& of : kCases) {
    CAPTURE(of.name);
    const Expected expected = read_expected(of);
    const Model model = make_network(of, torch::kFloat);
    const at::Tensor images = make_batch(of, 0).images.to(torch::kFloat);
    CHECK(distance(model.forward({}, {images})[0], expected.logits) < 1e-5);
    CHECK(distance(model.forward({.training = true}, {images})[0], expected.training_logits) < 1e-5);
  }
}

TEST_CASE("resnet has torchvision's tensors at each depth, so that its weights load") {
  struct Inventory {
    int64_t depth, parameters;
    std::string digest;
  };
  const Inventory inventories[] = {
#include "tests/parity/reference/resnet_tensors.inc"
  };
  for (const Inventory& inventory : inventories) {
    CAPTURE(inventory.depth);
    Model model = open_model("resnet", {{"depth", inventory.depth}});
    model.build();
    std::set<std::string> lines;
    int64_t parameters = 0;
    for (const auto& [name, tensor, trainable] : model.tensors()) {
      std::string extents;
      for (const int64_t extent : tensor.sizes()) extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
      const char* const dtype = tensor.scalar_type() == torch::kInt64 ? " int64 [" : " float32 [";
      lines.insert(name + dtype + extents + "]\n");
      parameters += trainable ? tensor.numel() : 0;
    }
    CHECK(parameters == inventory.parameters);
    std::string text;
    for (const std::string& line : lines) text += line;
    CHECK(tenon::support::sha256(text) == inventory.digest);
  }
}

TEST_CASE("resnet loads a file of half precision, with a wrapper's prefix, and without the counters of batch norms") {
  const Model from = make_network(kCases[0], torch::kFloat);
  std::vector<at::Tensor> halves;  // keeps alive what the views point to
  std::vector<tenon::artifacts::TensorView> views;
  for (const auto& [name, tensor, trainable] : from.tensors()) {
    if (!tensor.is_floating_point()) continue;
    const at::Tensor& half = halves.emplace_back(tensor.detach().to(torch::kHalf).contiguous());
    views.push_back({"_orig_mod.module." + name, TENON_FLOAT16, half.sizes().vec(),
                     static_cast<const std::byte*>(half.const_data_ptr()), half.nbytes()});
  }
  const std::filesystem::path file = std::filesystem::path(TENON_TEST_DIR) / "resnet18.safetensors";
  tenon::artifacts::write_safetensors(file, views, {}, tenon::support::ErrorKind::checkpoint);
  const Model to = open_resnet(kCases[0]);
  tenon::pipeline::load_weights(file, to.tensors());
  for (size_t i = 0; i < to.tensors().size(); ++i) {
    const at::Tensor& found = to.tensors()[i].tensor;
    CAPTURE(to.tensors()[i].name);
    const at::Tensor expected = from.tensors()[i].tensor.to(torch::kHalf).to(found.scalar_type());
    CHECK(torch::equal(found, found.is_floating_point() ? expected : torch::zeros_like(found)));
  }
}

TEST_CASE("resnet begins with torchvision's distributions") {
  torch::manual_seed(1);
  Model model = open_model("resnet");
  model.build();
  for (const auto& [name, tensor, trainable] : model.tensors()) {
    const std::string tensor_name = name;  // clang captures no structured binding
    CAPTURE(tensor_name);
    if (tensor.dim() == 4) {
      const auto fan_out = static_cast<double>(tensor.size(0) * tensor.size(2) * tensor.size(3));
      CHECK(tensor.std().item<double>() == doctest::Approx(std::sqrt(2 / fan_out)).epsilon(0.04));
      // A uniform distribution would end at 1.7 deviations.
      CHECK(tensor.abs().max().item<double>() > 3 * std::sqrt(2 / fan_out));
    } else if (name.starts_with("fc.")) {
      const double bound = 1 / std::sqrt(512.0);
      CHECK(tensor.abs().max().item<double>() <= bound);
      CHECK(tensor.abs().max().item<double>() > 0.98 * bound);
    } else {
      const bool is_one = name.ends_with(".weight") || name.ends_with(".running_var");
      CHECK(tensor.eq(is_one ? 1 : 0).all().item<bool>());
    }
  }
}

TEST_CASE("resnet's blocks begin as the identity where zero_init_residual says so") {
  for (const int64_t depth : {18, 50}) {
    CAPTURE(depth);
    const std::string last = depth == 18 ? ".bn2.weight" : ".bn3.weight";
    const Model model = make_small({{"depth", depth}, {"zero_init_residual", true}});
    for (const NamedTensor& named : model.tensors()) {
      if (!named.name.ends_with(".weight") || named.tensor.dim() != 1) continue;
      CAPTURE(named.name);
      CHECK(named.tensor.eq(named.name.ends_with(last) ? 0 : 1).all().item<bool>());
    }
  }
}

TEST_CASE("resnet computes its stem and blocks again where activations are not kept, and gives the same gradients") {
  for (const int64_t depth : {18, 50}) {
    CAPTURE(depth);
    const at::Tensor images = torch::rand({3, 3, 40, 37});
    std::vector<std::vector<at::Tensor>> gradients, buffers;
    for (const bool checkpoints : {false, true}) {
      torch::manual_seed(5);
      const Model model = make_small({{"depth", depth}});
      const at::Tensor logits =
          model.forward({.training = true, .checkpoints_activations = checkpoints}, {images}).at(0);
      CHECK(count_nodes(logits, "ConvolutionBackward0") == (checkpoints ? 0 : depth == 18 ? 20 : 53));
      logits.square().sum().backward();
      gradients.push_back(gradients_of(model));
      buffers.push_back(tensors_of(model, Which::buffers));
    }
    for (size_t i = 0; i < gradients[0].size(); ++i) CHECK(torch::equal(gradients[0][i], gradients[1][i]));
    for (size_t i = 0; i < buffers[0].size(); ++i) CHECK(torch::equal(buffers[0][i], buffers[1][i]));
  }
}

TEST_CASE("resnet takes images of any size") {
  const torch::NoGradGuard no_gradient;
  for (const std::string stem : {"imagenet", "cifar"}) {
    const Model model = make_small({{"stem", stem}, {"channels", int64_t{2}}});
    const std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 1}, {7, 2}, {33, 20}};
    for (const auto& [height, width] : sizes) {
      const int64_t image_height = height;
      CAPTURE(image_height);
      CHECK(model.forward({}, {torch::rand({2, 2, height, width})})[0].sizes() == at::IntArrayRef({2, kClasses}));
    }
  }
}

TEST_CASE("resnet refuses a depth that the paper does not have, with those that it has") {
  CHECK_THROWS_WITH_AS(open_model("resnet", {{"depth", int64_t{20}}}),
                       doctest::Contains("depth = 20; expected 18, 34, 50, 101 or 152"), tenon::support::Error);
}
