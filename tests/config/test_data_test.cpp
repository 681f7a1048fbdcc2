// Tests of [data.test]: its keys, `like`, and the metrics that are computed on it.
#include <doctest/doctest.h>

#include "framework/config/file/format_run_plan.h"
#include "framework/config/file/read_run_config.h"
#include "tests/config/run_file.h"
#include "tests/messages.h"

namespace tenon::config {
namespace {

const std::string kTestData = "[data.test]\nuse = \"digits\"\nparams = { split = \"test\" }\nsubset = \"50%\"\n";

std::string with_test(const std::string& test, const std::string& metric = "") {
  return short_run_file_with("[[metric]]\nuse = \"accuracy\"\n",
                             test + "[[metric]]\nuse = \"accuracy\"\n" + metric + (metric.empty() ? "" : "\n"));
}

// A run file with [data.train] and without validation data.
std::string without_validation(const std::string& more) {
  return "model = { use = \"small_cnn\" }\nloss = [{ use = \"cross_entropy\" }]\ntrain = { steps = 5 }\n"
         "optimizer = { use = \"sgd\", lr = 0.1 }\n[data]\nbatch_size = 2\n[data.train]\nuse = \"digits\"\n" +
         more;
}

}  // namespace

TEST_CASE("test data have the keys of validation data") {
  const RunPlan one = plan_of(with_test(kTestData));
  REQUIRE(one.data.test.size() == 1);
  CHECK(one.data.test[0].name == "test");
  CHECK(one.data.test[0].use == "digits");
  CHECK(std::get<std::string>(one.data.test[0].params.at("split")) == "test");
  CHECK(to_string(one.data.test[0].subset) == "50%");
  CHECK(one.data.test_limit_batches == 0);
  CHECK(one.data.validation.size() == 1);
  const RunPlan several =
      plan_of(with_test("[data.test.clean]\nuse = \"digits\"\n[data.test.noisy]\nuse = \"digits\"\n"),
              {"data.test_limit_batches=3"});
  REQUIRE(several.data.test.size() == 2);
  CHECK(several.data.test[0].name == "test/clean");
  CHECK(several.data.test[1].name == "test/noisy");
  CHECK(several.data.test_limit_batches == 3);
  CHECK(plan_of(kShortRunFile).data.test.empty());
}

TEST_CASE("test data like the training or validation data have their parameters, except those that they set") {
  const RunPlan validation = plan_of(with_test("[data.test]\nlike = \"validation\"\nsubset = \"50%\"\n"));
  REQUIRE(validation.data.test.size() == 1);
  CHECK(validation.data.test[0].use == "digits");
  CHECK(std::get<std::string>(validation.data.test[0].params.at("split")) == "test");
  CHECK(to_string(validation.data.test[0].subset) == "50%");
  CHECK(to_string(validation.data.validation[0].subset) == "100%");
  const RunPlan train = plan_of(with_test("[data.test]\nlike = \"train\"\nparams = { split = \"test\" }\n"));
  CHECK(std::get<std::string>(train.data.test.at(0).params.at("split")) == "test");
  // Validation data that are themselves like the training data.
  const RunPlan chain =
      plan_of(without_validation("params = { split = \"test\" }\n[data.validation]\nlike = \"train\"\n"
                                 "[data.test]\nlike = \"validation\"\n"));
  CHECK(std::get<std::string>(chain.data.test.at(0).params.at("split")) == "test");

  CHECK(
      contains(error_of(with_test("[data.test]\nlike = \"test\"\n")),
               "data.test.like is \"test\"; expected \"train\" or \"validation\", for the parameters of that dataset"));
  CHECK(contains(error_of(without_validation("[data.test]\nlike = \"validation\"\n")),
                 "data.test.like is \"validation\"; expected \"train\" or \"validation\""));
  CHECK(contains(
      error_of(without_validation("[data.validation.a]\nuse = \"digits\"\n[data.test]\nlike = \"validation\"\n")),
      "data.test.like is \"validation\"; expected \"train\" or \"validation\""));
  CHECK(contains(error_of(with_test("[data.test]\nlike = \"validation\"\nuse = \"image_folder\"\n")),
                 "data.test.like is \"validation\", but data.test.use is \"image_folder\" and data.validation.use is "
                 "\"digits\"; expected the same component"));
  CHECK(contains(error_of(with_test("[data.validation2]\n")), "data.validation2 is not a key of data"));
}

TEST_CASE("metrics of the validation are computed on the test data, and others where the file says") {
  const auto metric = [](const std::string& on) { return plan_of(with_test(kTestData, on)).metrics.at(0); };
  for (const std::string on : {"", "on = [\"validation\"]", "on = [\"test\", \"validation\"]"}) {
    CAPTURE(on);
    CHECK(metric(on).on_validation);
    CHECK(metric(on).on_test);
    CHECK_FALSE(metric(on).on_train);
  }
  CHECK(metric("on = [\"test\"]").on_test);
  CHECK_FALSE(metric("on = [\"test\"]").on_validation);
  CHECK_FALSE(metric("on = [\"train\"]").on_test);
  const RunPlan only_test = plan_of(without_validation(kTestData + "[[metric]]\nuse = \"accuracy\"\n"));
  CHECK(only_test.metrics.at(0).on_test);

  CHECK(contains(error_of(with_test("", "on = [\"test\"]")),
                 "metric.0.on has \"test\", but there is no [data.test]; add [data.test], or remove \"test\""));
  CHECK(contains(error_of(with_test(kTestData, "on = []")),
                 "metric.0.on is []; expected \"train\", \"validation\", \"test\" or several of them"));
}

TEST_CASE("a plan with test data is printed and read back, and one without has no key of them") {
  for (const std::string& text :
       {with_test(kTestData), with_test(kTestData, "on = [\"test\"]"),
        with_test(kTestData, "on = [\"train\", \"test\"]"),
        with_test("[data.test.clean]\nuse = \"digits\"\n[data.test.\"a.b c\"]\nuse = \"digits\"\n"),
        without_validation(kTestData + "[[metric]]\nuse = \"accuracy\"\n")}) {
    const std::string printed = format_run_plan(plan_of(text, {"data.test_limit_batches=2"}));
    CAPTURE(printed);
    CHECK(contains(printed, "\n[data.test"));
    CHECK(contains(printed, "test_limit_batches = 2\n"));
    CHECK(format_run_plan(plan_of(printed)) == printed);
  }
  const std::string without = format_run_plan(plan_of(kShortRunFile));
  CHECK_FALSE(contains(without, "[data.test"));
  CHECK_FALSE(contains(without, "test_limit"));
}

// Nothing that a run does before its end depends on them.
TEST_CASE("test data may change in a run that resumes, without a message") {
  for (const char* key : {"data.test.use", "data.test.params.path", "data.test.subset", "data.test_limit_batches"})
    CHECK(find_resume_policy(key) == ResumePolicy::ignored);
  // The plan of a metric is the same with and without them.
  const std::string with = format_run_plan(plan_of(with_test(kTestData)));
  CHECK(contains(with, "name = \"accuracy\"\non = [\"validation\"]\n"));
}

}  // namespace tenon::config
