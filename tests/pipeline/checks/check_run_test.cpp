// Tests the warnings about settings that make a run slow or its results useless.
#include "framework/pipeline/checks/check_run.h"

#include <filesystem>
#include <fstream>

#include "framework/pipeline/checks/check_data.h"
#include "framework/pipeline/tools/save_weights.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

namespace tenon::pipeline {
namespace {

using Texts = std::vector<std::string>;

// Warnings without the place at their beginning, which must be in the run file.
Texts warnings_of(const Setup& setup, bool has_bf16 = true) {
  const BuiltRun run(setup);
  Texts warnings;
  for (const std::string& warning : check_run(*run.training, has_bf16)) {
    CAPTURE(warning);
    CHECK(warning.find('\n') == warning.npos);
    CHECK(warning.find("; expected ") != warning.npos);
    const size_t end = warning.find(": ");
    const bool has_place = warning.find("run.toml:") < end || warning.starts_with("--set ");
    CHECK(has_place);
    warnings.push_back(warning.substr(end + 2));
  }
  return warnings;
}

void check_one(const Texts& warnings, const std::string& begin, const std::string& end) {
  REQUIRE(warnings.size() == 1);
  CAPTURE(warnings.front());
  CHECK(warnings.front().starts_with(begin));
  CHECK(warnings.front().ends_with(end));
}

std::string error_of(const Setup& setup) {
  const BuiltRun run(setup);
  return find_error(support::ErrorKind::configuration, [&] { check_run(*run.training, true); });
}

std::string mlp(int classes) {
  return "model={use='mlp',params={hidden=[16],classes=" + std::to_string(classes) + "}}";
}

const std::string kOneFeature = "model={use='mlp',params={inputs=1,hidden=[4],classes=2}}";

// A table with one feature and 20 rows.
class Table {
 public:
  explicit Table(const std::string& name, bool has_two = true) : path_(tenon::test_folder() / name) {
    std::ofstream file(path_);
    file << "x,label\n";
    for (int i = 0; i < 20; ++i) file << i << (has_two && i % 2 == 0 ? ",cat\n" : ",dog\n");
  }

  std::string with(const std::string& dataset, const std::string& split, const std::string& more = "") const {
    return "data." + dataset + "={use='table'" + more + ",params={path='" + path_.string() +
           "',target='label',task='classification',split='" + split + "'}}";
  }

 private:
  std::filesystem::path path_;
};

const std::string kTrained = " has samples of the training data (";

}  // namespace

TEST_CASE("a run with sensible settings has no warnings") {
  CHECK(warnings_of({}).empty());
  CHECK(warnings_of({}, /*has_bf16=*/false).empty());
}

TEST_CASE("bf16 on a processor without bf16 instructions is a warning") {
  for (const std::string precision : {"bf16", "bf16_true"}) {
    CAPTURE(precision);
    const Setup setup{{"train.precision=\"" + precision + "\""}};
    check_one(warnings_of(setup, false),
              "train.precision is \"" + precision +
                  "\", but this processor has no bf16 instructions: a run may be up to 100 times slower",
              "expected train.precision = \"fp32\", or a CUDA device");
    CHECK(warnings_of(setup, true).empty());
  }
}

TEST_CASE("validation on the training samples is a warning") {
  check_one(
      warnings_of({{"data.validation={use='digits'}"}}), "validation" + kTrained,
      "set another split in the params of each, or subset = \"80%\" for training and \"80%-100%\" for validation");
  CHECK(warnings_of({{"data.train.subset='80%'", "data.validation={use='digits',subset='80%-100%'}"}}).empty());
  CHECK(warnings_of({{"data.train.subset='80%'", "data.validation={use='digits',subset='79%-100%'}"}}).size() == 1);
  check_one(warnings_of({{"data.validation={test={use='digits',params={split='test'}},seen={use='digits'}}"}}),
            "validation/seen" + kTrained, "for validation");
}

TEST_CASE("a part of the data is in the whole") {
  const Table table("table.csv"), other("other.csv");
  const auto warnings = [&](const std::string& train, const std::string& validation, const Table& validated,
                            const std::string& more = "") {
    return warnings_of({{kOneFeature, "data.batch_size=5", table.with("train", train),
                         validated.with("validation", validation, more)}});
  };
  check_one(warnings("all", "all", table), "validation" + kTrained, "for validation");
  CHECK(warnings("all", "validation", table).size() == 1);
  CHECK(warnings("train", "all", table).size() == 1);
  CHECK(warnings("train", "all", table, ",subset='50%'").size() == 1);
  CHECK(warnings("train", "validation", table).empty());
  CHECK(warnings("all", "all", other).empty());
}

TEST_CASE("parameters that change only the look of the samples do not hide that they are the same") {
  config::NamedDataset train;
  train.use = "images";
  train.place = "run.toml:1:1";
  train.name = "train";
  train.params = {{"path", "photos"}, {"split", "all"}, {"transforms", Texts{"flip()"}}};
  BuiltRun run(Setup{});
  config::RunPlan plan = *run.plan;
  plan.data.train.use = train.use;
  plan.data.train.params = train.params;
  config::NamedDataset& validation = plan.data.validation.front();
  validation.use = train.use;
  validation.params = train.params;
  validation.params["transforms"] = Texts{"resize(8)"};
  validation.params["cache"] = "memory";
  plan.data.train.params["cache"] = "none";
  run.training->plan = std::make_shared<const config::RunPlan>(plan);
  CHECK(check_run(*run.training, true).size() == 1);
  validation.params["path"] = "others";
  run.training->plan = std::make_shared<const config::RunPlan>(plan);
  CHECK(check_run(*run.training, true).empty());
}

TEST_CASE("samples that are generated from seeds are not those of the training data") {
  BuiltRun run(Setup{});
  config::RunPlan plan = *run.plan;
  for (config::NamedDataset* const data : {&plan.data.train, &plan.data.validation.front()}) {
    data->use = "generated";
    data->params = {{"samples", int64_t{100}}, {"noise", 0.5}};
  }
  run.training->plan = std::make_shared<const config::RunPlan>(plan);
  CHECK(check_run(*run.training, true).empty());
  for (config::NamedDataset* const data : {&plan.data.train, &plan.data.validation.front()})
    data->params["files"] = Texts{"a.csv"};
  run.training->plan = std::make_shared<const config::RunPlan>(plan);
  CHECK(check_run(*run.training, true).size() == 1);
}

TEST_CASE("a model with more outputs than the data have classes is a warning") {
  check_one(warnings_of({{mlp(1000)}}),
            "the output logits of model \"mlp\" of plugin mlp 0.1.0 has 1000 classes, but "
            "the label of train has 10, so the others are never right; ",
            "expected 10: set model.params.classes = 10");
  // Two losses on the same output.
  CHECK(warnings_of({{mlp(11), "loss=[{use='cross_entropy'},{use='cross_entropy',name='again'}]"}}).size() == 1);
  const Table table("table.csv");
  const Texts data{"data.batch_size=5", table.with("train", "train"), table.with("validation", "validation")};
  Texts three = join_settings(data, {"model={use='mlp',params={inputs=1,hidden=[4],classes=3}}"});
  check_one(warnings_of({three}), "the output logits",
            "the label of train has 2, so the others are never right; "
            "expected 2: set model.params.classes = 2");
  // The third class has a name, and the data lack it so far.
  three.push_back("data.class_names={label=['cat','dog','eel']}");
  CHECK(warnings_of({three}).empty());
}

TEST_CASE("a model with fewer outputs than the data have classes is refused") {
  const std::string message = error_of({{mlp(3)}});
  CAPTURE(message);
  CHECK(message.find("the output logits of model \"mlp\" of plugin mlp 0.1.0 has 3 classes, but the label of train has "
                     "10, so the loss fails on the others; expected 10: set model.params.classes = 10") !=
        message.npos);
  CHECK(error_of({{mlp(10)}}) == "accepted");
  // The loss ignores the last class.
  CHECK(error_of({{mlp(9), "loss=[{use='cross_entropy',params={ignore_index=9}}]"}}) == "accepted");
  CHECK(error_of({{mlp(9), "loss=[{use='cross_entropy',params={ignore_index=8}}]"}}) != "accepted");
}

TEST_CASE("validation data with more classes than the model has outputs are refused") {
  const auto data = [](const std::string& name, int classes) {
    return "data." + name +
           "={use='synthetic',params={samples=400,channels=1,height=8,width=8,classes=" + std::to_string(classes) +
           "}}";
  };
  CHECK(error_of({{mlp(10), data("train", 3), data("validation", 10)}}) == "accepted");
  const std::string message = error_of({{mlp(3), data("train", 3), data("validation", 10)}});
  CAPTURE(message);
  CHECK(message.find("has 3 classes, but the label of validation has 10, so the loss fails on the others") !=
        message.npos);
}

TEST_CASE("the classes of an output that does not declare them are counted in a batch") {
  const Setup undeclared{{"model={use='undeclared',params={outputs=12}}"}};
  CHECK(warnings_of(undeclared).empty());
  const BuiltRun run(undeclared), declared({{mlp(12)}});
  const std::vector<at::Tensor> outputs{at::zeros({5, 12})};
  CHECK(check_class_counts(*declared.training, &outputs).empty());
  const Texts warnings = check_class_counts(*run.training, &outputs);
  REQUIRE(warnings.size() == 1);
  CAPTURE(warnings.front());
  CHECK(warnings.front().find("has 12 classes, but the label of train has 10") != std::string::npos);
  CHECK(warnings.front().ends_with("expected 10: set model.params.outputs = 10"));
}

TEST_CASE("mixing with another number of classes than the data have is a warning or refused") {
  const auto mixed = [](int classes) {
    return Setup{{"model={use='small_cnn',params={classes=" + std::to_string(classes) + "}}",
                  "loss=[{use='soft_cross_entropy',inputs={target='data.mixed_label'}}]", "metric=[]",
                  "data.batch_transform=[{use='mix',classes=" + std::to_string(classes) + "}]"}};
  };
  CHECK(warnings_of(mixed(10)).empty());
  check_one(warnings_of(mixed(12)),
            "mix has 12 classes, but the label of train has 10, so the others are never right; ",
            "expected classes = 10");
  const std::string message = error_of(mixed(9));
  CAPTURE(message);
  CHECK(message.ends_with(": mix has 9 classes, but the label of train has 10; expected classes = 10"));
}

TEST_CASE("data with one class are a warning") {
  const Table table("table.csv", /*has_two=*/false), other("other.csv", /*has_two=*/false);
  check_one(
      warnings_of({{kOneFeature, "data.batch_size=5", table.with("train", "all"), other.with("validation", "all")}}),
      "the label of train has one class (\"dog\"), so there is nothing to learn",
      "expected at least 2: check the parameters of the dataset");
}

TEST_CASE("a batch that is larger than the training data is a warning") {
  check_one(warnings_of({{"data.batch_size=1439"}}),
            "data.batch_size is 1439, but train has 1438 samples, so each epoch "
            "is one short batch",
            "expected at most 1438: set data.batch_size = 1438");
  CHECK(warnings_of({{"data.batch_size=1438"}}).empty());
  CHECK(warnings_of({{"data.batch_size=64", "data.limit_batches=1"}}).empty());
  check_one(warnings_of({{"data.batch_size=200", "data.train.subset='10%'"}}),
            "data.batch_size is 200, but train has 143 samples in its subset 10%,", "set data.batch_size = 143");
}

TEST_CASE("initial weights of a run on as many classes with other names are a warning") {
  const Table table("table.csv"), other("other.csv");
  const Texts overrides{kOneFeature, "data.batch_size=5", table.with("train", "all"), other.with("validation", "all")};
  const std::filesystem::path file = tenon::test_folder() / "weights.safetensors";
  const auto warnings_with = [&](const Texts& classes, const std::string& more = "") {
    const BuiltRun run({overrides});
    save_weights(file, run.training->model.tensors(), at::ScalarType::Undefined, {{"label", classes}});
    Texts changed = overrides;
    changed.push_back("model.weights='" + file.string() + "'");
    if (!more.empty()) changed.push_back(more);
    return warnings_of({changed});
  };
  CHECK(warnings_with({"cat", "dog"}).empty());
  CHECK(warnings_with({"ant", "bee", "zebra"}).empty());  // such a last layer does not fit
  check_one(
      warnings_with({"dog", "cat"}),
      "model.weights is of a run with 2 classes (\"dog\", \"cat\") in label, but the training data have 2 classes "
      "(\"cat\", \"dog\"), so the outputs begin with those of other classes; expected the same names",
      "or leave out the last layer with model.weights_exclude");
  CHECK(warnings_with({"ant", "zebra"}, "model.weights_exclude=['layers.1.*']").empty());
}

}  // namespace tenon::pipeline
