// Sizes that the run file leaves out: those of the data, or of the weights.
#include "framework/pipeline/build/infer_sizes.h"

#include <torch/types.h>

#include <fstream>

#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/config/file/format_run_plan.h"
#include "framework/pipeline/tools/save_weights.h"
#include "framework/support/diagnostics/log.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

using namespace tenon::pipeline;

namespace {

int64_t size_of(const tenon::config::ComponentPlan& plan, const std::string& name) {
  return std::get<int64_t>(plan.params.at(name));
}

const std::string kSynthetic = "{use='synthetic',params={samples=8,channels=2,height=3,width=5,classes=4}}";

// A run on images [2, 3, 5] of four classes, or on other data.
std::vector<std::string> synthetic(const std::string& model, const std::string& data = kSynthetic) {
  return {"model=" + model, "data.train=" + data, "data.validation=" + data, "data.batch_size=4"};
}

}  // namespace

TEST_CASE("classes, channels and values that the run file leaves out are those of the data") {
  const BuiltRun cnn({synthetic("{use='small_cnn',params={width=4}}")});
  CHECK(size_of(cnn.training->plan->model, "channels") == 2);
  CHECK(size_of(cnn.training->plan->model, "classes") == 4);
  CHECK(size_of(cnn.training->plan->model, "width") == 4);
  // The run file's plan is unchanged.
  CHECK(size_of(cnn.plan->model, "classes") == 10);

  const BuiltRun mlp({synthetic("{use='mlp'}")});
  CHECK(size_of(mlp.training->plan->model, "inputs") == 30);
  CHECK(size_of(mlp.training->plan->model, "classes") == 4);
  CHECK(mlp.training->model.outputs()[0].shape.extents[1].size == 4);
}

TEST_CASE("channels that are probably the height of images are reported") {
  tenon::support::collect_warnings();
  const auto warnings_of = [](const std::string& sizes, const std::string& model) {
    const BuiltRun run({synthetic(model, "{use='synthetic',params={samples=8,classes=4," + sizes + "}}")});
    return tenon::support::take_warnings();
  };
  const std::string image = "channels=16,height=16,width=3";
  const auto warnings = warnings_of(image, "{use='small_cnn',params={width=4}}");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("has samples of 16 x 16 x 3 values, which looks like height x width x channels, and "
                         "model.params.channels = 16 is inferred; expected channels first") != std::string::npos);
  CHECK(warnings_of(image, "{use='small_cnn',params={width=4,channels=16}}").empty());
  CHECK(warnings_of("channels=3,height=16,width=3", "{use='small_cnn',params={width=4}}").empty());
}

TEST_CASE("a size in the run file stays") {
  const BuiltRun run({synthetic("{use='mlp',params={classes=7}}")});
  CHECK(size_of(run.training->plan->model, "classes") == 7);
  CHECK(size_of(run.training->plan->model, "inputs") == 30);
}

TEST_CASE("metrics and batch transforms have the classes of the data") {
  BuiltRun run(
      {join_settings(synthetic("{use='small_cnn',params={width=4}}"),
                     {"metric=[{use='confusion_matrix'},{use='roc_auc'}]", "data.batch_transform=[{use='mix'}]",
                      "loss=[{use='soft_cross_entropy',inputs={target='data.mixed_label'}}]"})});
  CHECK(size_of(run.training->plan->metrics[0], "classes") == 4);
  CHECK(size_of(run.training->plan->metrics[1], "classes") == 4);
  CHECK(std::get<tenon::config::MixBatch>(run.training->plan->data.batch_transforms[0].what).classes == 4);
  run.train();
  CHECK(run.recorder.of_kind(LineKind::validation).size() == 2);
}

TEST_CASE("a model with named inputs has the classes of the data, or of the losses' targets") {
  const auto overrides = synthetic("{use='mlp',params={hidden=[8]},inputs={image='data.image'}}");
  const BuiltRun run({overrides});
  CHECK(size_of(run.training->plan->model, "classes") == 4);
  CHECK(size_of(run.training->plan->model, "inputs") == 30);
  const BuiltRun named(
      {join_settings(overrides, {"loss=[{use='cross_entropy',inputs={target='data.label'}}]", "metric=[]"})});
  CHECK(size_of(named.training->plan->model, "classes") == 4);
}

TEST_CASE("a field without dimensions is one value for each sample") {
  const std::filesystem::path folder = tenon::test_folder() / "scalars";
  std::filesystem::create_directories(folder);
  const at::Tensor x = torch::linspace(-1, 1, 12), y = 3 * x;
  save_weights(folder / "samples.safetensors", {{"x", x, true}, {"y", y.unsqueeze(1), true}},
               at::ScalarType::Undefined);
  const std::string data = "{use='arrays',params={path='" + (folder / "samples.safetensors").string() + "'}}";
  BuiltRun run({{"model={use='mlp',params={hidden=[],classes=1},inputs={image='data.x'}}", "data.train=" + data,
                 "data.validation=" + data, "loss=[{use='mse',inputs={prediction='model.logits',target='data.y'}}]",
                 "metric=[]", "data.batch_size=4"}});
  CHECK(size_of(run.training->plan->model, "inputs") == 1);
  run.train();
  CHECK(run.recorder.weights.at("layers.0.weight").sizes() == at::IntArrayRef({1, 1}));
}

TEST_CASE("the vocabulary is that of the data's tokenizer") {
  const std::filesystem::path file = tenon::test_folder() / "text.txt";
  std::ofstream(file) << "abcabcabcabcabcabc";
  const std::string data = "{use='text_windows',params={path='" + file.string() + "',tokens='characters',context=4}}";
  const BuiltRun run(
      {{"model={use='gpt',params={context=4,layers=1,heads=1,width=8}}", "data.train=" + data,
        "data.validation=" + data, "loss=[{use='sequence_cross_entropy'}]", "metric=[]", "data.batch_size=2"}});
  CHECK(size_of(run.training->plan->model, "vocabulary_size") == 3);
}

TEST_CASE("a size out of the parameter's range is not used") {
  // One class; the smallest number of classes of a confusion matrix is 2.
  const std::string data = "{use='synthetic',params={samples=8,channels=1,height=8,width=8,classes=1}}";
  const BuiltRun run(
      {join_settings(synthetic("{use='mlp',params={classes=2}}", data), {"metric=[{use='confusion_matrix'}]"})});
  CHECK(size_of(run.training->plan->metrics[0], "classes") == 2);
}

TEST_CASE("the data do not declare the classes of a field that a batch transform mixes") {
  const std::string refusal = refusal_of({{"data.train={use='torn'}", "data.validation={use='torn'}",
                                           "model={use='mlp'}", "data.batch_transform=[{use='mix'}]"}});
  CHECK(refusal.find("data.batch_transform[0].classes is missing") != std::string::npos);
  CHECK(refusal.find("expected an integer of at least 1") != std::string::npos);
}

TEST_CASE("evaluation has the sizes of the weights, and training those of the data") {
  const auto train = synthetic("{use='mlp',params={hidden=[8]}}");
  BuiltRun run({train});
  const tenon::artifacts::ModelSizes sizes =
      list_model_sizes(run.training->plan->model, run.training->model.component());
  CHECK(sizes == tenon::artifacts::ModelSizes{{"inputs", 30}, {"classes", 4}});
  const std::filesystem::path file = tenon::test_folder() / "weights.safetensors";
  save_weights(file, run.training->model.tensors(), at::ScalarType::Undefined, {},
               {{tenon::artifacts::kModelSizes, tenon::artifacts::format_model_sizes(sizes)}});

  // The same images with two classes.
  const std::string data = "{use='synthetic',params={samples=8,channels=2,height=3,width=5,classes=2}}";
  const BuiltRun partial(
      {join_settings(train, {"data.train=" + data, "data.validation=" + data, "model.weights='" + file.string() + "'",
                             "model.weights_match='partial'"})});
  CHECK(size_of(partial.training->plan->model, "classes") == 2);
  const Evaluation evaluation = build_evaluation(*partial.plan, *partial.catalogue);
  CHECK(size_of(evaluation.plan->model, "classes") == 4);
}

TEST_CASE("sizes in the metadata of weights that have another form are ignored") {
  const std::filesystem::path file = tenon::test_folder() / "weights.safetensors";
  for (const char* text : {"[3]", "{\"classes\": \"3\"}", "{\"classes\": 3", "3"}) {
    CAPTURE(text);
    save_weights(file, {{"a", torch::zeros({2}), true}}, at::ScalarType::Undefined, {},
                 {{tenon::artifacts::kModelSizes, text}});
    CHECK(tenon::artifacts::read_model_sizes(file).empty());
  }
  CHECK(tenon::artifacts::read_model_sizes(tenon::test_folder() / "missing.safetensors").empty());
}
