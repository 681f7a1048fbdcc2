// The results of a model in TorchScript, and names that TorchScript cannot read.
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>

#include "framework/components/tensors/tensor_functions.h"
#include "framework/pipeline/tools/trace_model.h"
#include "tests/components/fixture_plugins.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"

namespace trace_results_test {

using tenon::components::Model;
using tenon::pipeline::trace_model;

namespace {

Model build_summed(const tenon::components::Catalogue& catalogue, bool reads_values, const std::string& layer) {
  tenon::config::ComponentPlan plan;
  plan.use = "summed";
  plan.params = {{"reads_values", reads_values}, {"layer", layer}};
  Model model(catalogue.find(tenon::config::ComponentKind::model, "summed"), plan);
  model.build();
  return model;
}

torch::jit::Module read(const std::string& bytes) {
  std::istringstream stream(bytes);
  return torch::jit::load(stream);
}

}  // namespace

TEST_CASE("the TorchScript of a model with results has them as a method") {
  const torch::NoGradGuard no_gradient;
  tenon::components::install_libtorch();
  const auto catalogue = tenon::components::open_fixture("summed");
  const Model model = build_summed(catalogue, false, "layer");
  torch::jit::Module module = read(trace_model(model, {{torch::rand({3, 4})}}));
  const at::Tensor x = torch::randn({5, 4});
  const at::Tensor y = module.forward({x}).toTensor();
  const auto results = module.get_method("results")({y}).toTuple()->elements();
  const auto expected = model.compute_results({}, {y});
  REQUIRE(results.size() == 3);
  CHECK(torch::equal(results[0].toTensor(), expected.values[0]));
  CHECK(torch::equal(results[1].toTensor(), expected.lengths[0]));
  CHECK(torch::equal(results[1].toTensor(), y.gt(0).sum(1).clamp_max(2)));
  CHECK(torch::allclose(results[2].toTensor(), y.sum(1)));
}

TEST_CASE("results that a trace would change are left out of TorchScript") {
  const torch::NoGradGuard no_gradient;
  tenon::components::install_libtorch();
  const auto catalogue = tenon::components::open_fixture("summed");
  const Model model = build_summed(catalogue, true, "layer");
  const torch::jit::Module module = read(trace_model(model, {{torch::rand({3, 4})}}));
  CHECK(module.find_method("forward"));
  CHECK_FALSE(module.find_method("results"));
}

TEST_CASE("a tensor called as a word of TorchScript is refused with its name") {
  tenon::components::install_libtorch();
  const auto catalogue = tenon::components::open_fixture("summed");
  const Model model = build_summed(catalogue, false, "class");
  const std::string message = tenon::find_error(tenon::support::ErrorKind::plugin, [&] {
    trace_model(model, {{torch::rand({3, 4})}});
  });
  CHECK(tenon::contains(message, "the tensor class.weight has \"class\" in its name, a word of TorchScript"));
}

}  // namespace trace_results_test
