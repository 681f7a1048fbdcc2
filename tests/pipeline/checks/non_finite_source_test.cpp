// Tests what a run says about the origin of a loss that is not finite.
#include <limits>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

using namespace tenon::pipeline;

namespace {

// Writes features [40, 3] and labels 0 and 1, and returns settings of a run that trains on them.
Setup train_on(const at::Tensor& features, const std::vector<std::string>& more = {}) {
  const std::filesystem::path file = tenon::test_folder() / "data.safetensors";
  const at::Tensor labels = torch::arange(features.size(0)) % 2;
  const auto view = [](const std::string& name, const at::Tensor& tensor) {
    return tenon::artifacts::TensorView{name, tenon::components::to_dtype(tensor.scalar_type()), tensor.sizes().vec(),
                                        static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
  };
  const std::vector<tenon::artifacts::TensorView> views{view("features", features), view("label", labels)};
  tenon::artifacts::write_safetensors(file, views, {}, tenon::support::ErrorKind::data);
  const std::string data = "={use='arrays',params={path='" + file.string() + "'}}";
  Setup setup{{"data.train" + data, "data.validation" + data, "data.batch_size=8", "data.shuffle=false",
               "model={use='mlp',params={hidden=[4],classes=2}}", "train={epochs=1}"}};
  setup.overrides.insert(setup.overrides.end(), more.begin(), more.end());
  return setup;
}

std::string failure_of(const Setup& setup) {
  try {
    BuiltRun run(setup);
    run.train();
  } catch (const tenon::support::Error& error) {
    CHECK(error.kind() == tenon::support::ErrorKind::non_finite);
    return error.what();
  }
  return "finished";
}

}  // namespace

TEST_CASE("a sample with NaN or infinity is named by the loss that it makes NaN") {
  torch::manual_seed(1);
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    at::Tensor features = torch::rand({40, 3});
    features[19][2] = wrong;
    const std::string message = failure_of(train_on(features));
    CAPTURE(message);
    CHECK(message.find(" in step 3 (data.features of train sample 19 is not finite); expected a finite number: correct "
                       "or remove the sample") != std::string::npos);
  }
  CHECK(failure_of(train_on(torch::rand({40, 3}))) == "finished");
}

TEST_CASE("a model that diverges is named, with the learning rate only after the first step") {
  const at::Tensor features = torch::full({40, 3}, 3e38f);  // their weighted sums overflow
  const std::string at_once = failure_of(train_on(features));
  CAPTURE(at_once);
  CHECK(at_once.ends_with(
      " in step 1 (model.logits is not finite); expected a finite number: look for a root or a logarithm near 0 in the "
      "model"));
  const std::string later = failure_of(train_on(torch::rand({40, 3}), {"optimizer={use='sgd',lr=1e39}"}));
  CAPTURE(later);
  CHECK(later.find("(model.logits is not finite); expected a finite number: lower optimizer.lr, or look") !=
        std::string::npos);
}
