// Weights for other images, and weights of timm that a model would run with other arithmetic. tests/parity/make_timm.py
// wrote the references.
#include "framework/pipeline/state/adapt_weights.h"

#include <torch/types.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/pipeline/build/load_weights.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/pipeline/tools/save_weights.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

namespace tenon::pipeline::adapt_weights_test {
namespace {

namespace fs = std::filesystem;
using components::NamedTensor;

const artifacts::SafetensorsFile& references() {
  static const artifacts::SafetensorsFile file(TENON_SOURCE_DIR "/tests/parity/reference/adapted_weights.safetensors");
  return file;
}

at::Tensor read(const std::string& name) {
  const artifacts::TensorView* const found = references().find(name);
  REQUIRE(found);
  return copy_stored(*found);
}

// A model that divides images into patches.
std::vector<NamedTensor> vision_transformer(int64_t tokens, int64_t channels = 3) {
  return {{"encoder.pos_embedding", torch::zeros({1, tokens, 6}), true},
          {"conv_proj.weight", torch::zeros({6, channels, 2, 2}), true}};
}

fs::path write(const std::vector<NamedTensor>& tensors, const std::string& name = "weights.safetensors") {
  const fs::path file = tenon::test_folder() / name;
  fs::create_directories(file.parent_path());
  save_weights(file, tensors, at::ScalarType::Undefined);
  return file;
}

std::string refusal_of(const std::function<void()>& body) { return find_error(support::ErrorKind::checkpoint, body); }

artifacts::TensorView named(const std::string& name) { return {name, TENON_FLOAT32, {0}, nullptr, 0}; }

config::ComponentPlan efficientnet(const std::string& variant, const std::string& padding, double eps,
                                   bool is_left_out) {
  config::ComponentPlan plan;
  plan.use = "efficientnet";
  plan.params = {{"variant", variant}, {"padding", padding}, {"norm_eps", eps}};
  if (is_left_out) plan.left_out = {"padding", "norm_eps"};
  return plan;
}

}  // namespace

TEST_CASE("position embeddings are interpolated and filters of RGB images converted as in timm") {
  for (const int64_t side : {2, 5, 8}) {
    const std::string count = std::to_string(side * side), tokens = std::to_string(side * side + 1);
    const auto model = vision_transformer(side * side + 1), grid = vision_transformer(side * side);
    const auto with_class = adapt_weight(model[0], read("positions"), model);
    REQUIRE(with_class);
    CHECK(torch::equal(with_class->values, read("positions." + tokens)));
    CHECK(with_class->what ==
          "interpolated from 4 x 4 to " + std::to_string(side) + " x " + std::to_string(side) + " patches");
    const auto without = adapt_weight(grid[0], read("grid"), grid);
    REQUIRE(without);
    CHECK(torch::equal(without->values, read("grid." + count)));
  }
  for (const int64_t channels : {1, 2, 5}) {
    const auto adapted = adapt_weight({"conv1.weight", torch::zeros({4, channels, 2, 2}), true}, read("filters"), {});
    REQUIRE(adapted);
    CHECK(torch::equal(adapted->values, read("filters." + std::to_string(channels))));
  }
}

TEST_CASE("other differences of shapes are not weights for other images") {
  const at::Tensor positions = read("positions");
  const auto refused = [&](const NamedTensor& tensor, const at::Tensor& stored, const std::vector<NamedTensor>& model) {
    return !adapt_weight(tensor, stored, model);
  };
  const auto model = vision_transformer(26);
  CHECK(refused({"encoder.weight", torch::zeros({1, 26, 6}), true}, positions, model));
  CHECK(refused({"pos_embedding", torch::zeros({1, 24, 6}), true}, positions, model));        // no square
  CHECK(refused({"pos_embedding", torch::zeros({1, 26, 5}), true}, positions, model));        // another width
  CHECK(refused({"pos_embedding", torch::zeros({1, 26, 6}), true}, positions, {}));           // of a text
  CHECK(refused({"conv.weight", torch::zeros({4, 1, 3, 3}), true}, read("filters"), model));  // another kernel
  CHECK(refused({"conv.weight", torch::zeros({4, 3, 2, 2}), true}, read("filters.1"), model));
}

TEST_CASE("weights for other images are loaded in a strict match, but not those of a run") {
  const fs::path file = write(
      {{"encoder.pos_embedding", read("positions"), true}, {"conv_proj.weight", torch::ones({6, 3, 2, 2}), true}});
  const auto model = vision_transformer(26, 1);
  load_weights(file, model);
  CHECK(torch::equal(model[0].tensor, read("positions.26")));
  CHECK(torch::equal(model[1].tensor, torch::full({6, 1, 2, 2}, 3.0)));
  const auto other = vision_transformer(26, 1);
  CHECK(contains(refusal_of([&] { load_weights(file, other, {.is_of_run = true}); }),
                 "encoder.pos_embedding is float32 [1, 17, 6]; expected float32 [1, 26, 6]"));
  // Several convolutions of three channels are no first layer.
  const fs::path two =
      write({{"a.weight", torch::ones({6, 3, 2, 2}), true}, {"b.weight", torch::ones({6, 3, 2, 2}), true}});
  CHECK(contains(refusal_of([&] {
                   load_weights(two, {{"a.weight", torch::zeros({6, 1, 2, 2}), true},
                                      {"b.weight", torch::zeros({6, 1, 2, 2}), true}});
                 }),
                 "a.weight is float32 [6, 3, 2, 2]; expected float32 [6, 1, 2, 2]"));
}

TEST_CASE("weights with NaN are refused, and nothing changes") {
  at::Tensor spoiled = torch::ones({4});
  spoiled[2] = NAN;
  const fs::path file = write({{"a", torch::ones({2}), true}, {"norm.running_var", spoiled, false}});
  const std::vector<NamedTensor> model{{"a", torch::zeros({2}), true}, {"norm.running_var", torch::zeros({4}), false}};
  CHECK(contains(refusal_of([&] { load_weights(file, model); }), "norm.running_var holds NaN; expected numbers"));
  CHECK(torch::equal(model[0].tensor, torch::zeros({2})));
  // Infinity may be a mask.
  spoiled[2] = -INFINITY;
  load_weights(write({{"a", torch::ones({2}), true}, {"norm.running_var", spoiled, false}}), model);
  CHECK(torch::equal(model[1].tensor, spoiled));
}

TEST_CASE("a partial match is not suggested if layers of the file would be dropped") {
  const fs::path file =
      write({{"layer1.0.conv.weight", torch::ones({9}), true}, {"layer1.0.se.fc1.weight", torch::ones({3}), true}});
  const std::vector<NamedTensor> model{{"layer1.0.conv.weight", torch::zeros({9}), true}};
  const std::string refusal = refusal_of([&] { load_weights(file, model); });
  CHECK(contains(refusal, "the model lacks 1 tensor of the file, and without these layers it computes something else"));
  CHECK(contains(refusal, "layer1.0.se.fc1.weight is not a tensor of the model"));
  CHECK_FALSE(contains(refusal, "weights_match"));
  load_weights(file, model, {config::WeightsMatch::strict, {"*.se.*"}});
}

TEST_CASE("models of timm with the tensors of a bundled model are refused by the name of their weights") {
  const config::ComponentPlan resnet{.use = "resnet", .params = {}, .inputs = {}, .place = ""};
  const auto refuse = [&](const fs::path& file) {
    return refusal_of([&] { check_timm_weights(resnet, file, {named("conv1.weight")}); });
  };
  for (const char* name :
       {"resnetblur50-84f4748f.pth", "resnetaa50.a1h_in1k.safetensors", "seresnet50_ra_224.pth", "my_seresnet18.pth",
        "models--timm--resnetblur50.bt_in1k/snapshots/a1/model.safetensors", "ResNetBlur18/pytorch_model.bin"}) {
    CAPTURE(name);
    CHECK(contains(refuse(tenon::test_folder() / name), "the name says that these are weights of timm's "));
  }
  for (const std::string name : {"resnet50-0676ba61.pth", "tv_resnet34.tv_in1k.safetensors", "gluon_resnet50_v1b.pth",
                                 "resnetblur/resnet18.pth", "weights.safetensors"}) {
    CAPTURE(name);
    CHECK(refuse(tenon::test_folder() / name) == "accepted");
  }
  // The name in config.json has precedence over that of the file.
  const fs::path folder = tenon::test_folder() / "resnet50";
  fs::create_directories(folder);
  std::ofstream(folder / "config.json") << R"({"architecture": "resnetblur50", "num_classes": 1000})";
  CHECK(contains(refuse(folder / "model.safetensors"), "timm's resnetblur50, which blurs before it reduces the size"));
  CHECK(contains(refuse(folder), "timm's resnetblur50"));
  std::ofstream(folder / "config.json") << "{";
  CHECK(refuse(folder) == "accepted");
}

TEST_CASE("weights of timm's efficientnet need the padding and the norms of their model") {
  const std::vector<artifacts::TensorView> timm{named("conv_stem.weight")}, torchvision{named("features.0.0.weight")};
  const auto check = [&](const config::ComponentPlan& plan, const std::string& file, const auto& tensors) {
    std::string warning;
    const std::string refusal = refusal_of([&] { warning = check_timm_weights(plan, file, tensors); });
    return refusal == "accepted" ? warning : "refused: " + refusal;
  };
  const auto b0 = efficientnet("b0", "symmetric", 0, true), b5 = efficientnet("b5", "symmetric", 0, true);
  const auto same = efficientnet("b0", "same", 1e-3, false), chosen = efficientnet("b5", "symmetric", 1e-5, false);
  CHECK(check(b0, "efficientnet_b0_ra-3dd342df.pth", timm).empty());
  CHECK(check(b0, "efficientnet_b0.pth", torchvision).empty());
  CHECK(check(b5, "efficientnet_b5_lukemelas-1a07897c.pth", torchvision).empty());
  CHECK(check(chosen, "efficientnet_b5.sw_in12k.safetensors", timm).empty());
  CHECK(check(same, "tf_efficientnet_b0_ns-c0e6a31c.pth", timm).empty());
  CHECK(
      contains(check(b0, "tf_efficientnet_b0_ns-c0e6a31c.pth", timm),
               "refused: tf_efficientnet_b0_ns-c0e6a31c.pth: the name says that these are weights of timm's "
               "tf_efficientnet_b0_ns, which needs padding = \"same\", norm_eps = 1e-3 in model.params; the model has "
               "padding = \"symmetric\", norm_eps = 1e-5"));
  CHECK(contains(check(b5, "efficientnet_b5.sw_in12k.safetensors", timm),
                 "refused: efficientnet_b5.sw_in12k.safetensors: the name says that these are weights of timm's "
                 "efficientnet_b5, which needs padding = \"symmetric\", norm_eps = 1e-5"));
  // What the run file says is done, with a warning.
  CHECK(check(same, "efficientnet_b0.pth", timm).starts_with("efficientnet_b0.pth: the name says"));
  // Nothing shows the model.
  CHECK(contains(check(b0, "model_best.pth", timm),
                 "nothing shows which of its models they are of; they run with padding"));
  CHECK(check(same, "model_best.pth", timm).empty());
  CHECK(contains(check(b5, "model_best.pth", timm), "refused: model_best.pth: the tensors are named as in timm"));
}

}  // namespace tenon::pipeline::adapt_weights_test
