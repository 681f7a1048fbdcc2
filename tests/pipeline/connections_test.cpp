#include "framework/pipeline/build/connections.h"

#include "framework/support/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

using tenon::plugins::Port;

Port any_dtype(const char* name, const std::string& shape) {
  return {name, tenon::plugins::parse_shape(shape), TENON_ANY_DTYPE, ""};
}

// Connects inputs to the fields of numbered samples and to mlp's logits. Returns the name of each source.
std::vector<std::string> connect_inputs(const std::vector<Port>& ports) {
  const BuiltRun run({});
  const tenon::config::NamedDataset plan{{"counting", {{"samples", int64_t{4}}}, {}, ""}, "train"};
  const tenon::plugins::Dataset data(run.catalogue->find(tenon::config::ComponentKind::dataset, "counting"), plan);
  const tenon::config::ComponentPlan owner{"odd_loss", {}, {}, "run.toml:3:1"};
  std::vector<std::string> names;
  const auto wiring = connect(ports, "the loss", owner, run.training->model, data.fields());
  for (const Source& source : wiring.sources()) names.push_back(source.name);
  return names;
}

std::string refusal_of_inputs(const std::vector<Port>& ports) {
  try {
    connect_inputs(ports);
  } catch (const tenon::support::Error& error) {
    CHECK(error.kind() == tenon::support::ErrorKind::configuration);
    return error.what();
  }
  return "";
}

std::string refusal_of_input(const std::string& shape) { return refusal_of_inputs({any_dtype("odd", shape)}); }

}  // namespace

TEST_CASE("named inputs are the same as automatically connected ones") {
  BuiltRun found({{"train={steps=2}"}});
  BuiltRun named({{"train={steps=2}", "loss.0.inputs={logits=\"model.logits\",target=\"data.label\"}",
                   "model.inputs={image=\"data.image\"}"}});
  found.train();
  named.train();
  CHECK(found.recorder.of_kind(LineKind::epoch)[0].metrics == named.recorder.of_kind(LineKind::epoch)[0].metrics);
}

TEST_CASE("a port that does not exist is refused with the nearest name") {
  const std::string message = refusal_of({{"loss.0.inputs={logit=\"model.logits\"}"}});
  CHECK(message.find("inputs names the port \"logit\"") != std::string::npos);
  CHECK(message.find("did you mean \"logits\"?") != std::string::npos);
}

TEST_CASE("a source that does not exist is refused with the nearest name") {
  const std::string message = refusal_of({{"loss.0.inputs={logits=\"model.logit\"}"}});
  CHECK(message.find("inputs.logits is \"model.logit\", which does not exist; did you mean \"model.logits\"?") !=
        std::string::npos);
}

TEST_CASE("a source of another dtype is refused with found and expected") {
  const std::string message = refusal_of({{"loss.0.inputs={target=\"model.logits\"}"}});
  CHECK(message.find("does not fit its source model.logits") != std::string::npos);
  CHECK(message.find("expected int64") != std::string::npos);
}

TEST_CASE("a shape that the model does not accept is refused before the first step") {
  const std::string message = refusal_of({{"model={use=\"small_cnn\",params={channels=3}}"}});
  CHECK(message.find("is 1, expected 3 as in [N, 3, H, W]") != std::string::npos);
}

TEST_CASE("an input that fits several sources is refused with all of them and how to choose") {
  const std::string message = refusal_of_input("N");
  CHECK(
      message.starts_with("run.toml:3:1: the loss: the input odd: any dtype [N] fits several sources, and none has "
                          "its name:"));
  CHECK(message.find("data.number: int64 [N] fits") != std::string::npos);
  CHECK(message.find("data.value: float32 [N] fits") != std::string::npos);
  CHECK(message.ends_with("choose one with inputs = { odd = \"...\" }"));
}

TEST_CASE("an input that fits several sources is connected to the first of its usual ones that fits") {
  Port odd = any_dtype("odd", "N"), other = any_dtype("other", "N");
  odd.usual_sources = {"missing", "logits", "value", "number"};
  other.usual_sources = {"value", "number"};
  CHECK(connect_inputs({odd, other}) == std::vector<std::string>{"data.value", "data.number"});
  CHECK(connect_inputs({odd, any_dtype("value", "N")})[1] == "data.value");
}

TEST_CASE("an input that fits no source is refused with the reason for each") {
  const std::string message = refusal_of_input("N,3,3");
  CHECK(message.starts_with("run.toml:3:1: the loss: the input odd: any dtype [N, 3, 3] fits no source:"));
  CHECK(message.find("model.logits") < message.find("data.number"));
  CHECK(message.find("data.value: float32 [N] does not fit: the shape is [N], expected [N, 3, 3]") !=
        std::string::npos);
  CHECK(message.find("several") == std::string::npos);
}

TEST_CASE("a source is connected automatically to only one input of a component") {
  const std::string message = refusal_of_inputs({any_dtype("prediction", "N,10"), any_dtype("target", "N,10")});
  CHECK(message.starts_with("run.toml:3:1: the loss: the input target: any dtype [N, 10] fits no source:"));
  CHECK(message.find("[N, 10] is already connected to the input prediction") != std::string::npos);
}
