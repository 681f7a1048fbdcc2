#include "framework/pipeline/evaluation/evaluate.h"

#include "framework/data/sampler.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

std::map<std::string, double> metrics_with_batch(int64_t batch_size) {
  BuiltRun run({{"data.validation_batch_size=" + std::to_string(batch_size), "run.deterministic=true"}});
  const auto metrics = evaluate(*run.training, *run.training->validation.front(), {}, [](int64_t) { return true; });
  REQUIRE(metrics);
  return {metrics->begin(), metrics->end()};
}

at::Tensor read_images(BoundDataset& data, int64_t epoch) {
  data.feed.loader().start(tenon::data::sequential_order(data.feed.dataset().size()), epoch);
  return data.to_batch_tensors(*data.feed.loader().next(), true).fields.front().clone();
}

}  // namespace

TEST_CASE("metrics do not depend on the batch size") {
  const auto whole = metrics_with_batch(359);
  for (const int64_t batch_size : {1, 7, 64, 358, 1000}) {
    CAPTURE(batch_size);
    const auto cut = metrics_with_batch(batch_size);
    CHECK(cut.at("validation/accuracy") == whole.at("validation/accuracy"));
    // The loss of a batch is a sum of up to 359 terms in single precision, each of which rounds once. A missing sample
    // or one counted twice would change the mean by at least 1e-4.
    CHECK(cut.at("validation/loss") == doctest::Approx(whole.at("validation/loss")).epsilon(359 * 0x1p-24));
  }
}

TEST_CASE("an interrupted evaluation returns no metrics, and the next one is complete") {
  BuiltRun run({{"data.validation_batch_size=100"}});
  int64_t batches = 0;
  const auto broken_off = evaluate(*run.training, *run.training->validation.front(), {}, [&](int64_t done) {
    batches = done;
    return done < 2;
  });
  CHECK_FALSE(broken_off);
  CHECK(batches == 2);
  CHECK(evaluate(*run.training, *run.training->validation.front(), {}, [&](int64_t done) {
    batches = done;
    return true;
  }));
  CHECK(batches == 4);
}

TEST_CASE("evaluating again gives the same metrics and does not change the weights") {
  BuiltRun run({{"model={use=\"small_cnn\",params={width=4}}"}});
  std::vector<at::Tensor> before;
  for (const auto& named : run.training->model.tensors()) before.push_back(named.tensor.detach().clone());
  const auto pass = [&] {
    return evaluate(*run.training, *run.training->validation.front(), {}, [](int64_t) { return true; });
  };
  CHECK(pass().value() == pass().value());
  for (size_t i = 0; i < before.size(); ++i) CHECK(torch::equal(before[i], run.training->model.tensors()[i].tensor));
}

TEST_CASE("data from the sample's seed are equal in every evaluation and differ from training") {
  BuiltRun run({{"data.train={use=\"noise\"}", "data.validation={a={use=\"noise\"},b={use=\"noise\"}}"}});
  BoundDataset& train = *run.training->train;
  BoundDataset& a = *run.training->validation.at(0);
  BoundDataset& b = *run.training->validation.at(1);
  const auto metrics_in = [&](int64_t epoch) {
    return evaluate(*run.training, a, {true, 0, epoch, 0, 1}, [](int64_t) { return true; }).value();
  };
  CHECK(metrics_in(1) == metrics_in(2));
  CHECK(torch::equal(read_images(a, 0), read_images(a, 0)));
  for (const int64_t epoch : {0, 1, 2}) CHECK_FALSE(torch::equal(read_images(a, 0), read_images(train, epoch)));
  CHECK_FALSE(torch::equal(read_images(a, 0), read_images(b, 0)));
}
