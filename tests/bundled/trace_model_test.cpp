#include "framework/pipeline/tools/trace_model.h"

#include <torch/csrc/jit/serialization/import.h>

#include <sstream>

#include "framework/support/diagnostics/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"

using namespace tenon::bundled;
using tenon::components::Model;
using tenon::pipeline::trace_model;

namespace {

torch::jit::Module read(const std::string& bytes) {
  std::istringstream stream(bytes);
  return torch::jit::load(stream);
}

}  // namespace

TEST_CASE("the TorchScript of a native or portable model has the model's outputs and tensor names") {
  const torch::NoGradGuard no_gradient;
  for (const char* id : {"small_cnn", "resnet"}) {
    CAPTURE(id);
    const Model model = build_model(id, {{"classes", int64_t{3}}, {"width", int64_t{4}}, {"channels", int64_t{1}}});
    const torch::jit::Module module = read(trace_model(model, {{torch::rand({4, 1, 32, 32})}}));
    const at::Tensor images = torch::rand({7, 1, 32, 32});
    torch::jit::Module callable = module;
    CHECK(torch::allclose(callable.forward({images}).toTensor(), model.forward({}, {images})[0]));
    std::map<std::string, at::Tensor> stored;
    for (const auto& named : module.named_parameters()) stored[named.name] = named.value;
    for (const auto& named : module.named_buffers()) stored[named.name] = named.value;
    CHECK(stored.size() == model.tensors().size());
    for (const auto& named : model.tensors()) CHECK(torch::equal(stored[named.name], named.tensor));
    CHECK_FALSE(module.is_training());
  }
}

TEST_CASE("a traced model returns several outputs as a tuple") {
  const torch::NoGradGuard no_gradient;
  const Model model =
      build_model("small_cnn", {{"classes", int64_t{3}}, {"values", int64_t{2}}, {"channels", int64_t{1}}});
  const at::Tensor images = torch::rand({5, 1, 16, 16});
  const std::vector<at::Tensor> expected = model.forward({}, {images});
  REQUIRE(expected.size() == 2);
  const auto found = read(trace_model(model, {{images}})).forward({images}).toTuple()->elements();
  REQUIRE(found.size() == 2);
  for (size_t i = 0; i < 2; ++i) CHECK(torch::allclose(found[i].toTensor(), expected[i]));
}

TEST_CASE("the TorchScript of the other models of images and numbers takes another number of samples") {
  const std::map<std::string, tenon::config::Values> cases = {
      {"efficientnet", {{"classes", int64_t{3}}}},
      {"unet", {{"classes", int64_t{3}}, {"width", int64_t{4}}}},
      {"vit", {{"variant", std::string("ti_16")}, {"image_size", int64_t{32}}}}};
  for (const auto& one : cases) {
    const auto& id = one.first;
    const auto& params = one.second;
    CAPTURE(id);
    const Model model = build_model(id, params);
    CHECK_NOTHROW(trace_model(model, {{torch::rand({4, 3, 32, 32})}, {torch::rand({3, 3, 32, 32})}}));
  }
}

TEST_CASE("the TorchScript of gpt takes any number of texts, of any length within its context") {
  const torch::NoGradGuard no_gradient;
  const Model model = build_model(
      "gpt",
      {{"vocabulary_size", int64_t{11}}, {"width", int64_t{8}}, {"heads", int64_t{2}}, {"context", int64_t{16}}});
  const auto tokens = [](int64_t samples, int64_t length) {
    return torch::randint(0, 11, {samples, length}, torch::kLong);
  };
  torch::jit::Module module = read(trace_model(model, {{tokens(4, 5)}, {tokens(3, 9)}}));
  for (const int64_t samples : {1, 2, 7})
    for (const int64_t length : {1, 2, 5, 16}) {
      CAPTURE(samples);
      CAPTURE(length);
      const at::Tensor given = tokens(samples, length);
      CHECK(torch::allclose(module.forward({given}).toTensor(), model.forward({}, {given})[0], 1e-5, 1e-6));
    }
}

TEST_CASE("a model that computes with the sizes of its inputs is rejected, because a trace records the first sizes") {
  const auto tokens = [](int64_t length) { return torch::ones({4, length}, torch::kLong); };
  const Model model = build_model("seq2seq_transformer", {{"vocabulary_size", int64_t{11}}, {"width", int64_t{8}}});
  const std::string message = tenon::find_error(tenon::support::ErrorKind::plugin, [&] {
    trace_model(model, {{tokens(5), tokens(6)}, {tokens(7), tokens(6)}});
  });
  CAPTURE(message);
  CHECK(message.find("sizes that tracing records as constants") != std::string::npos);
  CHECK(message.find("traced on int64 [4, 5], int64 [4, 6], its TorchScript ") != std::string::npos);
  CHECK(message.find(" on int64 [4, 7], int64 [4, 6]: ") != std::string::npos);
}
