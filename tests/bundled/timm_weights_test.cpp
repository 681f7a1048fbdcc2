// Loads weights with timm's names into the bundled models. tests/parity/make_timm.py writes the reference.
#include <torch/types.h>

#include "framework/pipeline/build/load_weights.h"
#include "framework/support/diagnostics/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/bundled/sketched_network.h"
#include "tests/doctest_with_torch.h"

namespace timm_weights_test {

using namespace tenon::bundled;
using tenon::components::Model;
using tenon::components::NamedTensor;
using tenon::config::Values;

namespace {

const bool kHasOneThread = (at::set_num_threads(1), true);

const Values kEfficientnet = {{"classes", kSketchClasses}, {"width", 0.1}, {"depth", 0.4}};
const Values kVit = {{"classes", kSketchClasses}, {"image_size", int64_t{16}}, {"patch_size", int64_t{8}},
                     {"width", int64_t{24}},      {"depth", int64_t{2}},       {"heads", int64_t{3}},
                     {"mlp_width", int64_t{48}}};

Model load(const std::string& id, const Values& params, const tenon::pipeline::WeightsRequest& request = {}) {
  Model model = build_model(id, params);
  std::vector<NamedTensor> tensors = model.tensors();
  tensors.insert(tensors.end(), model.tied_tensors().begin(), model.tied_tensors().end());
  tenon::pipeline::load_weights(TENON_SOURCE_DIR "/tests/parity/reference/" + id + "_timm.safetensors", tensors,
                                request);
  return model;
}

void check(const std::string& id, const Values& params, int64_t size) {
  check_published(load(id, params), make_images({"published", {3, size, size}}, 0),
                  read_values("timm.safetensors", id + ".logits"));
}

}  // namespace

TEST_CASE("efficientnet loads weights with timm's names") { check("efficientnet", kEfficientnet, 40); }

TEST_CASE("efficientnet has the padding and the norms of timm's tf_efficientnet") {
  Values params = kEfficientnet;
  params["padding"] = std::string("same");
  params["norm_eps"] = 1e-3;
  const at::Tensor images = make_images({"published", {3, 40, 40}}, 0);
  const at::Tensor expected = read_values("timm.safetensors", "tf_efficientnet.logits");
  check_published(load("efficientnet", params), images, expected);
  CHECK(distance(expected, read_values("timm.safetensors", "efficientnet.logits")) > 1e-3);
}

TEST_CASE("vit loads weights with timm's names") { check("vit", kVit, 16); }

TEST_CASE("all tensors have a name of timm, for each variant") {
  for (const char* const variant : {"b0", "b4", "b7"}) {
    CAPTURE(variant);
    const Model model = build_model("efficientnet", {{"variant", std::string(variant)}});
    CHECK(model.tied_tensors().size() == model.tensors().size());
  }
}

TEST_CASE("weights with timm's names and another number of classes are loaded except for the classifier") {
  Values params = kVit;
  params["classes"] = int64_t{7};
  CHECK_THROWS_WITH_AS(load("vit", params), doctest::Contains("30 of its 32 tensors fit"), tenon::support::Error);
  const auto check_classifier = [](const Model& model) {
    for (const NamedTensor& named : model.tensors())
      if (named.name == "heads.head.weight") CHECK(named.tensor.abs().max().item<float>() == 0);
  };
  check_classifier(load("vit", params, {tenon::config::WeightsMatch::partial, {}, {}}));
  for (const char* const pattern : {"head.*", "heads.*"})
    check_classifier(load("vit", params, {tenon::config::WeightsMatch::strict, {pattern}, {}}));
}

}  // namespace timm_weights_test
