// Tests that all texts of a run have the vocabulary of the training data.
#include "framework/pipeline/checks/check_data.h"

#include <filesystem>
#include <fstream>

#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

namespace tenon::pipeline {
namespace {

std::string write(const std::string& name, const std::string& text) {
  const std::filesystem::path path = tenon::test_folder() / name;
  std::ofstream(path) << text;
  return path.string();
}

std::string dataset(const std::string& name, const std::string& use, const std::string& path, const std::string& more) {
  return "data." + name + "={use='" + use + "',params={path='" + path + "'," + more + "}}";
}

const std::vector<std::string> kModel{
    "model={use='gpt',params={context=4,layers=1,heads=1,width=4},inputs={tokens='data."
    "target'}}",
    "loss=[{use='sequence_cross_entropy'}]", "metric=[]", "data.batch_size=1"};

// The bytes that all datasets of a run were created with, or derived.
std::vector<std::string> fitted_of(const Training& training) {
  std::vector<std::string> fitted{training.train->feed.dataset().read_fitted_data()};
  for (const auto& later : training.scheduled_train) fitted.push_back(later.dataset->feed.dataset().read_fitted_data());
  for (const auto* const others : {&training.validation, &training.test})
    for (const auto& data : *others) fitted.push_back(data->feed.dataset().read_fitted_data());
  return fitted;
}

}  // namespace

TEST_CASE("every dataset of a run has the vocabulary of its training data") {
  const std::string train = write("train.txt", "the quick brown fox\n"), other = write("other.txt", "x quit\n");
  for (const std::string tokens : {"characters", "pieces"}) {
    CAPTURE(tokens);
    const std::string params = "context=4,tokens='" + tokens + "',vocabulary_size=40,model_type='char'";
    const BuiltRun run({join_settings(
        kModel,
        {dataset("train", "text_windows", train, params), dataset("validation", "text_windows", other, params),
         dataset("test", "text_windows", other, params), "data.train.change=[{at_epoch=2,params={stride=4}}]"})});
    const std::vector<std::string> fitted = fitted_of(*run.training);
    REQUIRE(fitted.size() == 4);
    for (const std::string& one : fitted) CHECK(one == fitted.front());
    CHECK(run.training->fitted_data.at("text_windows") == fitted.front());
    CHECK_NOTHROW(check_vocabularies(*run.training));
    // As of a checkpoint: the training data have changed since.
    config::RunPlan resumed = *run.plan;
    resumed.data.train.fitted = fitted.front();
    resumed.data.train.params["path"] = other;
    resumed.data.scheduled_train.clear();
    const Training training = build_training(resumed, *run.catalogue);
    for (const std::string& one : fitted_of(training)) CHECK(one == fitted.front());
  }
}

TEST_CASE("data of another component with other tokens are refused") {
  const std::string train = write("text.txt", "abcabc"), pairs = write("pairs.tsv", "source\ttarget\nab\tba\n");
  std::string fitted;
  const auto message = [&](const std::string& params, const std::string& of_pairs) {
    const BuiltRun run({join_settings(kModel, {dataset("train", "text_windows", train, "context=4," + params),
                                               dataset("validation", "text_pairs", pairs, of_pairs)})});
    fitted = fitted_of(*run.training).back();
    return find_error(support::ErrorKind::configuration, [&] { check_vocabularies(*run.training); });
  };
  const std::string trained = "model_type='char',vocabulary_size=20";
  CHECK(message("tokens='bytes'", trained)
            .find(": validation has a vocabulary of 7 tokens, and train of 256; expected the same "
                  "tokens: set the tokenizer of both to the same file") != std::string::npos);
  CHECK(message("tokens='pieces'," + trained, trained) != "accepted");
  const std::string model = "tokenizer='" + write("pairs.model", fitted.substr(fitted.find('\n') + 1)) + "'";
  CHECK(message("tokens='pieces'," + model, model) == "accepted");
}

}  // namespace tenon::pipeline
