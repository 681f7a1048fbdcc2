// Tests what a run says about the origin of a loss that is not finite.
#include <limits>
#include <string>
#include <vector>

#include "framework/pipeline/tools/save_weights.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

using namespace tenon::pipeline;

namespace {

// Writes features [40, 3] and labels 0 and 1, and returns settings of a run that trains on them.
Setup train_on(const at::Tensor& features, const std::vector<std::string>& more = {}) {
  const std::filesystem::path file = tenon::test_folder() / "data.safetensors";
  const at::Tensor labels = torch::arange(features.size(0)) % 2;
  save_weights(file, {{"features", features, true}, {"label", labels, true}}, at::ScalarType::Undefined);
  const std::string data = "={use='arrays',params={path='" + file.string() + "'}}";
  return {join_settings({"data.train" + data, "data.validation" + data, "data.batch_size=8", "data.shuffle=false",
                         "model={use='mlp',params={hidden=[4],classes=2}}", "train={epochs=1}"},
                        more)};
}

std::string failure_of(const Setup& setup) { return error_of_training(tenon::support::ErrorKind::non_finite, setup); }

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
  CHECK(failure_of(train_on(torch::rand({40, 3}))) == "accepted");
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
