// Training data with parameters that change between epochs: progressive resizing.
#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::support::Error;

namespace {

// Four epochs of two steps.
Setup make_setup(const std::string& first, const std::string& changes) {
  return {{"model={use=\"small_cnn\", params={channels=3, width=4}}", "data.batch_size=8", "data.workers=1",
           "data.train={use=\"synthetic\", params={samples=16, " + first + "}, change=[" + changes + "]}",
           "data.validation={use=\"synthetic\", params={samples=8, height=16, width=16}}", "train.epochs=4",
           "checkpoint.every=\"1 step\"", "run.deterministic=true"}};
}

const std::string kSmall = "height=8, width=8";
const std::string kLarge = "height=16, width=12";
const std::string kChange = "{at_epoch=3, params={" + kLarge + "}}";

const std::vector<RecordedLine> lines_after(const BuiltRun& run, int64_t step) {
  std::vector<RecordedLine> lines;
  for (const RecordedLine& line : run.recorder.lines)
    if (line.step > step) lines.push_back(line);
  return lines;
}

void check_same_end(const BuiltRun& one, const BuiltRun& other, int64_t after_step) {
  check_same_weights(one, other);
  const auto left = lines_after(one, after_step), right = lines_after(other, after_step);
  REQUIRE(left.size() == right.size());
  for (size_t i = 0; i < left.size(); ++i) CHECK(left[i].metrics == right[i].metrics);
}

}  // namespace

TEST_CASE("the images of an epoch have the size configured for it") {
  BuiltRun run(make_setup(kSmall, kChange + ", {at_epoch=4, params={width=20}}"));
  const auto image_shape = [&] { return run.training->train->feed.dataset().fields()[0].shape; };
  using Shape = std::vector<int64_t>;
  CHECK(image_shape() == Shape{3, 8, 8});
  run.training->use_data_of_epoch(2);
  CHECK(image_shape() == Shape{3, 8, 8});
  run.training->use_data_of_epoch(3);
  CHECK(image_shape() == Shape{3, 16, 12});
  run.training->use_data_of_epoch(4);
  CHECK(image_shape() == Shape{3, 16, 20});
  BuiltRun skipping(make_setup(kSmall, kChange + ", {at_epoch=4, params={width=20}}"));
  skipping.training->use_data_of_epoch(4);
  CHECK(skipping.training->train->feed.dataset().fields()[0].shape == Shape{3, 16, 20});
}

TEST_CASE("a run with changing data equals a run that was stopped and resumed with the other data") {
  BuiltRun changing(make_setup(kSmall, kChange));
  changing.train();
  BuiltRun small(make_setup(kSmall, ""));
  small.train();
  const size_t end_of_second = 3;
  REQUIRE(small.recorder.checkpoint_steps[end_of_second] == 4);
  BuiltRun by_hand(make_setup(kLarge, ""));
  by_hand.train({}, 0, &small.recorder.checkpoints[end_of_second]);
  check_same_end(changing, by_hand, 4);
  CHECK_FALSE(
      torch::equal(changing.recorder.weights.at("classifier.weight"), small.recorder.weights.at("classifier.weight")));
}

TEST_CASE("a run with changing data resumes from any of its checkpoints") {
  BuiltRun whole(make_setup(kSmall, kChange));
  whole.train();
  REQUIRE(whole.recorder.checkpoints.size() == 8);
  for (size_t i = 0; i < 7; ++i) {
    CAPTURE(i);
    BuiltRun resumed(make_setup(kSmall, kChange));
    resumed.train({}, 0, &whole.recorder.checkpoints[i]);
    check_same_end(whole, resumed, whole.recorder.checkpoint_steps[i]);
  }
}

TEST_CASE("a change that chooses other samples is refused before training") {
  const std::string why = refusal_of(make_setup(kSmall, "{at_epoch=2, params={samples=17}}"));
  CHECK(why.find("with these parameters dataset \"synthetic\" of plugin synthetic") != std::string::npos);
  CHECK(why.find("has 17 samples, and 16 in the first epoch; expected the same number") != std::string::npos);
}

TEST_CASE("a change that the model does not accept is refused before training") {
  CHECK_THROWS_AS(BuiltRun(make_setup(kSmall, "{at_epoch=2, params={channels=1}}")), Error);
}
