#include "framework/pipeline/evaluate.h"

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

std::map<std::string, double> figures_with_batch(int64_t batch_size) {
  BuiltRun run({{"data.validation_batch_size=" + std::to_string(batch_size), "run.deterministic=true"}});
  const auto figures = evaluate(*run.training, *run.training->validation.front(), {}, [](int64_t) {});
  return {figures.begin(), figures.end()};
}

}  // namespace

TEST_CASE("figures do not depend on how the data was cut into batches") {
  const auto whole = figures_with_batch(359);
  for (const int64_t batch_size : {1, 7, 64, 358, 1000}) {
    CAPTURE(batch_size);
    const auto cut = figures_with_batch(batch_size);
    CHECK(cut.at("validation/accuracy") == whole.at("validation/accuracy"));
    CHECK(cut.at("validation/loss") == doctest::Approx(whole.at("validation/loss")).epsilon(1e-6));
  }
}

TEST_CASE("evaluating again gives the same figures and leaves the weights alone") {
  BuiltRun run({{"model={use=\"small_cnn\",params={width=4}}"}});
  std::vector<at::Tensor> before;
  for (const auto& named : run.training->model.tensors()) before.push_back(named.tensor.detach().clone());
  const auto pass = [&] { return evaluate(*run.training, *run.training->validation.front(), {}, [](int64_t) {}); };
  CHECK(pass() == pass());
  for (size_t i = 0; i < before.size(); ++i) CHECK(torch::equal(before[i], run.training->model.tensors()[i].tensor));
}
