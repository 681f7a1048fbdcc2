#include "framework/pipeline/build/connections.h"

#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

using tenon::components::Port;

Port any_dtype(const char* name, const std::string& shape) {
  return {name, tenon::components::parse_shape(shape), TENON_ANY_DTYPE, ""};
}

// Connects inputs to the fields of numbered samples and to mlp's logits. Returns the name of each source.
std::vector<std::string> connect_inputs(const std::vector<Port>& ports) {
  const BuiltRun run({});
  const tenon::config::NamedDataset plan{{"counting", {{"samples", int64_t{4}}}, {}, ""}, "train"};
  const tenon::components::Dataset data(run.catalogue->find(tenon::config::ComponentKind::dataset, "counting"), plan);
  const tenon::config::ComponentPlan owner{"odd_loss", {}, {}, "run.toml:3:1"};
  std::vector<std::string> names;
  const auto wiring = connect(ports, "the loss", owner, run.training->model, data.fields());
  for (const Source& source : wiring.sources()) names.push_back(source.name);
  return names;
}

std::string refusal_of_inputs(const std::vector<Port>& ports) {
  return tenon::find_error(tenon::support::ErrorKind::configuration, [&] { connect_inputs(ports); });
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

TEST_CASE("ports, sources, dtypes and shapes that do not fit are refused before the first step") {
  const auto check = [](const std::string& override_text, const std::vector<const char*>& parts) {
    const std::string message = refusal_of({{override_text}});
    CAPTURE(message);
    for (const char* part : parts) CHECK(tenon::contains(message, part));
  };
  check("loss.0.inputs={logit=\"model.logits\"}", {"inputs names the port \"logit\"", "did you mean \"logits\"?"});
  check("loss.0.inputs={logits=\"model.logit\"}",
        {"inputs.logits is \"model.logit\", which does not exist; did you mean \"model.logits\"?"});
  check("loss.0.inputs={target=\"model.logits\"}", {"does not fit its source model.logits", "expected int64"});
  check("model={use=\"small_cnn\",params={channels=3}}", {"is 1, expected 3 as in [N, 3, H, W]"});
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

namespace {

using tenon::components::SampleField;

SampleField field_of(const char* name, int32_t dtype, std::vector<int64_t> shape = {}) {
  size_t elements = 1;
  for (const int64_t extent : shape) elements *= static_cast<size_t>(extent);
  const size_t bytes = tenon::components::dtype_bytes(dtype);
  return {name, dtype, std::move(shape), bytes, elements * bytes};
}

// Connects an input to a field and returns "data.y as Long", "data.y" if it is not converted, or the message.
std::string connect_fields(const std::string& shape, uint64_t dtypes, const std::vector<SampleField>& fields,
                           const std::string& named = "") {
  const BuiltRun run({});
  tenon::config::ComponentPlan owner{"odd_loss", {}, {}, "run.toml:3:1"};
  if (!named.empty()) owner.inputs["odd"] = named;
  try {
    const auto wiring = connect({{"odd", tenon::components::parse_shape(shape), dtypes, ""}}, "the loss", owner,
                                run.training->model, fields);
    const Source& source = wiring.sources().front();
    return source.name + (source.dtype ? std::string(" as ") + c10::toString(*source.dtype) : "");
  } catch (const tenon::support::Error& error) {
    return error.what();
  }
}

constexpr uint64_t kInt64 = TENON_DTYPE_BIT(TENON_INT64);

}  // namespace

TEST_CASE("fields of other dtypes are widened to what an input takes") {
  for (const int32_t dtype : {TENON_INT32, TENON_INT16, TENON_INT8, TENON_UINT8, TENON_BOOL}) {
    CHECK(connect_fields("N", kInt64, {field_of("y", dtype)}) == "data.y as Long");
    CHECK(connect_fields("N", kInt64, {field_of("y", dtype), field_of("z", TENON_INT64)}) == "data.z");
  }
  for (const int32_t dtype : {TENON_FLOAT64, TENON_FLOAT16, TENON_BFLOAT16})
    CHECK(connect_fields("N,3", TENON_ANY_FLOAT, {field_of("x", dtype, {3})}) == "data.x as Float");
  CHECK(connect_fields("N,3", TENON_ANY_FLOAT, {field_of("x", TENON_FLOAT32, {3})}) == "data.x");
  CHECK(connect_fields("N,3", TENON_DTYPE_BIT(TENON_FLOAT64), {field_of("x", TENON_FLOAT64, {3})}) == "data.x");
  CHECK(connect_fields("N", TENON_ANY_DTYPE, {field_of("y", TENON_INT32)}) == "data.y");
}

TEST_CASE("integers become floating-point numbers only if the run file names them") {
  const std::vector<SampleField> fields = {field_of("x", TENON_INT64, {3})};
  CHECK(connect_fields("N,3", TENON_ANY_FLOAT, fields).find("fits no source") != std::string::npos);
  CHECK(connect_fields("N,3", TENON_ANY_FLOAT, fields, "data.x") == "data.x as Float");
  CHECK(connect_fields("N,3", TENON_ANY_FLOAT, {field_of("odd", TENON_INT64, {3})})
            .ends_with("; to convert it, write inputs = { odd = \"data.odd\" }"));
  CHECK(connect_fields("N,H,W,C", TENON_ANY_FLOAT, {field_of("x", TENON_UINT8, {8, 8, 3})}, "data.x")
            .find("add \"normalize()\"") != std::string::npos);
  CHECK(connect_fields("N,3", kInt64, {field_of("x", TENON_FLOAT32, {3})}, "data.x").find("expected int64") !=
        std::string::npos);
}

TEST_CASE("the lengths of a padded field are an input that is chosen by name") {
  SampleField tokens = field_of("tokens", TENON_INT64, {-1}), grid = field_of("grid", TENON_FLOAT32, {-1, 3, -1});
  CHECK(connect_fields("N", kInt64, {tokens}, "data.tokens.lengths") == "data.tokens.lengths");
  CHECK(connect_fields("N,2", kInt64, {grid}, "data.grid.lengths") == "data.grid.lengths");
  CHECK(connect_fields("N", kInt64, {tokens}).find("fits no source") != std::string::npos);
  CHECK(connect_fields("N", kInt64, {tokens, field_of("label", TENON_INT64)}) == "data.label");
  CHECK(connect_fields("N", kInt64, {field_of("x", TENON_INT64, {2})}, "data.x.lengths").find("does not exist") !=
        std::string::npos);

  BatchTensors tensors;
  tensors.fields = {at::zeros({2, 4}, at::kLong), at::zeros({2, 2, 3, 5})};
  const Source of_tokens{Source::Kind::lengths, 0, "data.tokens.lengths", {}, {1}};
  const Source of_grid{Source::Kind::lengths, 1, "data.grid.lengths", {}, {1, 3}};
  CHECK(of_tokens.take(tensors).equal(at::tensor({4, 4}, at::kLong)));
  CHECK(of_grid.take(tensors).equal(at::tensor({2, 5, 2, 5}, at::kLong).view({2, 2})));
  tensors.lengths = {at::tensor({3, 4}, at::kLong).view({2, 1}), at::tensor({1, 5, 2, 0}, at::kLong).view({2, 2})};
  CHECK(of_tokens.take(tensors).equal(at::tensor({3, 4}, at::kLong)));
  CHECK(of_grid.take(tensors).equal(at::tensor({1, 5, 2, 0}, at::kLong).view({2, 2})));
  const at::Tensor shapes = find_sample_shapes(tensors, 1, grid);
  CHECK(shapes.equal(at::tensor({1, 3, 5, 2, 3, 0}, at::kLong).view({2, 3})));
  CHECK(take_sample(tensors.fields[1], shapes, 0).sizes() == at::IntArrayRef{1, 3, 5});
  CHECK(take_sample(tensors.fields[0], {}, 1).sizes() == at::IntArrayRef{4});
}

TEST_CASE("a converted field has the values of its input") {
  BatchTensors batch;
  batch.fields = {at::tensor({0.5, -2.0}, at::kDouble), at::tensor({1, 0}).to(at::kBool)};
  CHECK(Source{Source::Kind::field, 0, "data.x", at::kFloat}.take(batch).equal(at::tensor({0.5f, -2.0f})));
  CHECK(Source{Source::Kind::field, 1, "data.y", at::kLong}.take(batch).equal(at::tensor({1, 0}, at::kLong)));
  CHECK(Source{Source::Kind::field, 0, "data.x"}.take(batch).scalar_type() == at::kDouble);
}

TEST_CASE("results and lengths are not taken for the padded field with their number") {
  Wiring wiring({{Source::Kind::output, 0, "model.logits"},
                 {Source::Kind::result, 0, "result.scores"},
                 {Source::Kind::lengths, 0, "data.labels.lengths", {}, {1}}},
                {any_dtype("logits", "N,C"), any_dtype("scores", "N,K"), any_dtype("count", "N")}, "the metric",
                /*shapes_vary=*/true);
  tenon::data::Batch batch{2, {{nullptr, {2, 2}, true, {1, 2}}}};
  BatchTensors tensors;
  tensors.fields = {at::tensor({0, 1, 1, 0}, at::kLong).view({2, 2})};
  tensors.lengths = {at::tensor({1, 2}, at::kLong).view({2, 1})};
  tensors.outputs = {at::zeros({2, 2})};
  tensors.results.values = {at::ones({2, 3})};
  tensors.results.lengths = {at::tensor({3, 0}, at::kLong)};
  tensors.batch = &batch;
  const std::vector<at::Tensor> inputs = wiring.gather(tensors);
  CHECK(inputs[1].equal(at::ones({2, 3})));
  CHECK(inputs[2].equal(at::tensor({1, 2}, at::kLong)));
  CHECK(find_result_shapes(tensors, 0).equal(at::tensor({3, 0}, at::kLong).view({2, 1})));
  tensors.results.lengths = {at::tensor({4, 0}, at::kLong)};
  CHECK(tenon::find_error(tenon::support::ErrorKind::plugin, [&] {
          find_result_shapes(tensors, 0);
        }).find("a length outside of 0 to 3") != std::string::npos);
}

TEST_CASE("padded lists of integers are not compared with outputs as numbers") {
  const auto gather = [](int64_t padded, uint64_t dtypes, bool has_indices) {
    Port target{"target", tenon::components::parse_shape("N,C"), dtypes, ""};
    if (has_indices) target.indices = tenon::components::IndexRange{std::nullopt, 10, std::nullopt};
    Wiring wiring({{Source::Kind::output, 0, "model.logits"}, {Source::Kind::field, 0, "data.labels"}},
                  {any_dtype("logits", "N,C"), target}, "the loss", /*shapes_vary=*/true);
    tenon::data::Batch batch{2, {{nullptr, {2, 2}, padded != 0}}};
    BatchTensors tensors;
    tensors.fields = {at::tensor({0, 1, 1, 0}, at::kLong).view({2, 2})};
    tensors.outputs = {at::zeros({2, 2})};
    tensors.batch = &batch;
    return tenon::find_error(tenon::support::ErrorKind::data, [&] { wiring.gather(tensors); });
  };
  CHECK(gather(1, TENON_ANY_FLOAT | kInt64, false).find("is data.labels, lists of integers of different lengths") !=
        std::string::npos);
  CHECK(gather(0, TENON_ANY_FLOAT | kInt64, false) == "accepted");
  CHECK(gather(1, kInt64, false) == "accepted");
  CHECK(gather(1, TENON_ANY_FLOAT | kInt64, true) == "accepted");
}
