// Compares residual networks with torchvision's. tests/parity/make_resnet.py writes the reference.
#include <cmath>
#include <filesystem>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/pipeline/build/load_weights.h"
#include "framework/support/diagnostics/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/bundled/sketched_network.h"
#include "tests/doctest_with_torch.h"
#include "tests/test_folder.h"

namespace resnet_test {

using namespace tenon::bundled;
using tenon::components::Model;
using tenon::components::NamedTensor;

namespace {

// On a busy machine, more threads would spend their time waiting.
const bool kHasOneThread = (at::set_num_threads(1), true);

constexpr const char* kReference = "resnet.safetensors";

struct Case {
  SketchedCase sketched;
  int64_t depth, width;
  std::string stem;
};

const Case kCases[] = {{{"imagenet18", {3, 20, 20}}, 18, 64, "imagenet"},
                       {{"imagenet50", {3, 40, 40}}, 50, 8, "imagenet"},
                       {{"cifar18", {1, 11, 11}}, 18, 8, "cifar"}};

Model open_resnet(const Case& of) {
  return build_model("resnet", {{"depth", of.depth},
                                {"channels", of.sketched.image[0]},
                                {"classes", kSketchClasses},
                                {"stem", of.stem},
                                {"width", of.width}});
}

Model make_small(const tenon::config::Values& changes = {}) {
  return build_model("resnet", merged({{"width", int64_t{4}}, {"classes", kSketchClasses}}, changes));
}

}  // namespace

// In single precision, only the logits are compared.
TEST_CASE("resnet has torchvision's logits, gradients, and buffers after some training") {
  for (const Case& of : kCases) {
    CAPTURE(of.sketched.name);
    const Sketch expected = read_sketch(kReference, of.sketched);
    const Model model = open_resnet(of);
    check_evaluation(model, of.sketched, expected);
    check_training(model, of.sketched, expected);
    check_single_precision(open_resnet(of), of.sketched, expected);
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
    const Model model = build_model("resnet", {{"depth", inventory.depth}});
    check_tensors(model, inventory.parameters, inventory.digest);
  }
}

TEST_CASE("resnet loads a file in half precision, with a wrapper's prefix, and without the counters of batch norms") {
  const Model from = open_resnet(kCases[0]);
  fill(from, torch::kFloat);
  std::vector<at::Tensor> halves;  // owns the memory of the views
  std::vector<tenon::artifacts::TensorView> views;
  for (const auto& [name, tensor, trainable, is_frozen_parameter] : from.tensors()) {
    if (!tensor.is_floating_point()) continue;
    const at::Tensor& half = halves.emplace_back(tensor.detach().to(torch::kHalf).contiguous());
    views.push_back({"_orig_mod.module." + name, TENON_FLOAT16, half.sizes().vec(),
                     static_cast<const std::byte*>(half.const_data_ptr()), half.nbytes()});
  }
  const std::filesystem::path file = tenon::test_folder() / "resnet18.safetensors";
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

TEST_CASE("resnet is initialised with torchvision's distributions") {
  torch::manual_seed(1);
  const Model model = build_model("resnet");
  for (const auto& [name, tensor, trainable, is_frozen_parameter] : model.tensors()) {
    const std::string tensor_name = name;  // clang cannot capture structured bindings
    CAPTURE(tensor_name);
    if (tensor.dim() == 4) {
      const auto fan_out = static_cast<double>(tensor.size(0) * tensor.size(2) * tensor.size(3));
      CHECK(tensor.std().item<double>() == doctest::Approx(std::sqrt(2 / fan_out)).epsilon(0.04));
      // A uniform distribution would end at 1.7 standard deviations.
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

TEST_CASE("resnet's blocks start as the identity with zero_init_residual") {
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

TEST_CASE("activation checkpointing of resnet recomputes its stem and blocks, with the same gradients") {
  for (const int64_t depth : {18, 50}) {
    CAPTURE(depth);
    check_checkpointing(
        [&] {
          return make_small({{"depth", depth}});
        },
        torch::rand({3, 3, 40, 37}), "ConvolutionBackward0", depth == 18 ? 20 : 53);
  }
}

TEST_CASE("resnet accepts images of any size") {
  const torch::NoGradGuard no_gradient;
  for (const std::string stem : {"imagenet", "cifar"}) {
    const Model model = make_small({{"stem", stem}, {"channels", int64_t{2}}});
    const std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 1}, {7, 2}, {33, 20}};
    for (const auto& [height, width] : sizes) {
      const int64_t image_height = height;
      CAPTURE(image_height);
      CHECK(model.forward({}, {torch::rand({2, 2, height, width})})[0].sizes() == at::IntArrayRef({2, kSketchClasses}));
    }
  }
}

TEST_CASE("resnet rejects a depth that the paper does not have, and lists the valid ones") {
  CHECK_THROWS_WITH_AS(open_model("resnet", {{"depth", int64_t{20}}}),
                       doctest::Contains("depth = 20; expected 18, 34, 50, 101 or 152"), tenon::support::Error);
}

}  // namespace resnet_test
