#include <doctest/doctest.h>

#include <tenon/plugin.hpp>

#include "tests/plugin_api/made_component.h"

namespace model_test {

using namespace tenon::test;

namespace {

class Scale final {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("a", "N,C", TENON_ANY_FLOAT, "first"), tenon::output("y", "N,C"), tenon::input("b", "N,C")};
  }
  void build(tenon::Builder& builder) {
    weight_ = builder.parameter("scale.weight", {3}, tenon::init::uniform(-1, 2));
    mean_ = builder.buffer("scale.mean", {}, tenon::init::constant(4), TENON_INT64);
  }
  tenon::Tensor forward(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    return inputs["b"] * frame.tensor(weight_) - frame.tensor(mean_);
  }

 private:
  uint64_t weight_ = 0;
  uint64_t mean_ = 0;
};

class Split final {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("a", "N"), tenon::output("y", "N"), tenon::output("z", "N")};
  }
  void build(tenon::Builder&) {}
  std::vector<tenon::Tensor> forward(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    if (frame.is_training()) return {inputs[0], relu(inputs[0])};
    return {inputs[0]};
  }
};

class Extended final {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("a", "N", TENON_DTYPE_BIT(TENON_INT64)), tenon::output("y", "N")};
  }
  void build(tenon::Builder&) {}
  tenon::Tensor forward(const tenon::Frame&, const tenon::Inputs& inputs) const { return inputs[0]; }
  std::vector<tenon::IndexInput> index_inputs() const { return {tenon::index_below(7, "a")}; }
  bool is_capturable() const { return true; }
};

// Counts tokens in its cache. The scores are the tokens.
class Continued final {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("source", "N,S"), tenon::input("tokens", "N,T"), tenon::output("scores", "N,T,5")};
  }
  void build(tenon::Builder&) {}
  tenon::Tensor forward(const tenon::Frame&, const tenon::Inputs& inputs) const { return inputs[1]; }
  tenon::Decoding decoding() const { return {"tokens", "scores", 2, 9}; }
  tenon::Decoded decode(const tenon::Frame& frame, const tenon::Inputs& inputs,
                        const std::vector<tenon::Tensor>& cache) const {
    if (frame.is_training()) return {inputs["tokens"], {inputs["tokens"]}};
    if (cache.empty()) return {inputs["tokens"], {inputs["source"], inputs["tokens"]}};
    CHECK_FALSE(inputs["source"]);
    return {inputs["tokens"], {cache[0], relu(cache[1])}};
  }
};

struct Declared {
  std::string name;
  std::vector<int64_t> shape;
  int32_t dtype;
  uint32_t flags;
  uint32_t init;
  double a, b;
};

tenon_status declare(const tenon_builder* builder, const tenon_declaration* declaration, uint64_t* index) {
  auto& list = *static_cast<std::vector<Declared>*>(builder->context);
  *index = list.size() + 5;  // the host may use any indices
  list.push_back({to_text(declaration->name),
                  std::vector<int64_t>(declaration->shape, declaration->shape + declaration->ndim), declaration->dtype,
                  declaration->flags, declaration->init, declaration->a, declaration->b});
  return TENON_OK;
}

template <class T>
struct Made : MadeComponent<tenon_model> {
  Made() : MadeComponent(tenon::model<T>("id", "doc")) {
    const tenon_builder builder = {sizeof builder, &declared, declare, nullptr};
    REQUIRE(table.build(self, &builder) == TENON_OK);
  }

  tenon_frame frame(uint32_t training) const {
    return {sizeof(tenon_frame), tensors.data(), tensors.size(), training, 0, 1, 0, 0, 1, 0};
  }
  tenon_status forward(uint32_t training, std::vector<tenon_tensor*> inputs, uint64_t output_count) {
    const tenon_frame within = frame(training);
    outputs.assign(output_count, nullptr);
    return table.forward(self, &within, inputs.data(), inputs.size(), outputs.data(), output_count);
  }

  std::vector<Declared> declared;
  std::vector<tenon_tensor*> tensors, outputs;
};

}  // namespace

TEST_CASE_FIXTURE(Made<Scale>, "ports reach the host in their order") {
  const tenon_port* const* ports = nullptr;
  uint64_t count = 0;
  REQUIRE(table.ports(self, &ports, &count) == TENON_OK);
  REQUIRE(count == 3);
  CHECK(ports[0]->direction == TENON_INPUT);
  CHECK(to_text(ports[0]->name) == "a");
  CHECK(to_text(ports[0]->shape) == "N,C");
  CHECK(ports[0]->dtypes == TENON_ANY_FLOAT);
  CHECK(to_text(ports[0]->doc) == "first");
  CHECK(ports[1]->direction == TENON_OUTPUT);
}

TEST_CASE("a port has a set of dtypes, or one dtype, but no number of a dtype") {
  CHECK(tenon::input("a", "N", TENON_INT64).describe().dtypes == TENON_DTYPE_BIT(TENON_INT64));
  CHECK(tenon::output("a", "N", TENON_FLOAT32, "text").describe().dtypes == TENON_DTYPE_BIT(TENON_FLOAT32));
  CHECK(tenon::input("a", "N", TENON_ANY_INTEGER).describe().dtypes == TENON_ANY_INTEGER);
  CHECK(tenon::input("a", "N").describe().dtypes == TENON_ANY_DTYPE);
  CHECK(tenon::Port{TENON_INPUT, "a", "N", TENON_BOOL, ""}.describe().dtypes == TENON_DTYPE_BIT(TENON_BOOL));
  // TENON_INT32 | TENON_INT64, or dtype_of<float>()
  CHECK_FALSE(std::is_constructible_v<tenon::Dtypes, int>);
}

TEST_CASE_FIXTURE(Made<Scale>, "parameters and buffers are declared with name, shape and initialiser") {
  REQUIRE(declared.size() == 2);
  CHECK(declared[0].name == "scale.weight");
  CHECK(declared[0].shape == std::vector<int64_t>{3});
  CHECK(declared[0].dtype == TENON_FLOAT32);
  CHECK(declared[0].flags == TENON_TRAINABLE);
  CHECK(declared[0].init == TENON_INIT_UNIFORM);
  CHECK(declared[0].a == -1);
  CHECK(declared[0].b == 2);
  CHECK(declared[1].name == "scale.mean");
  CHECK(declared[1].shape.empty());
  CHECK(declared[1].dtype == TENON_INT64);
  CHECK(declared[1].flags == 0);
  CHECK(declared[1].a == 4);
}

TEST_CASE_FIXTURE(Made<Scale>, "forward computes with its inputs by name and the frame's tensors by index") {
  for (int i = 0; i < 7; ++i) tensors.push_back(host.make_tensor({3}));
  tenon_tensor *a = host.make_tensor({2, 3}), *b = host.make_tensor({2, 3});
  REQUIRE(forward(1, {a, b}, 1) == TENON_OK);
  REQUIRE(host.calls.size() == 2);
  CHECK(host.calls[0].op == "aten::mul.Tensor");
  CHECK(host.calls[0].args[0].as.p == b);
  CHECK(host.calls[0].args[1].as.p == tensors[5]);
  CHECK(host.calls[1].op == "aten::sub.Tensor");
  CHECK(host.calls[1].args[1].as.p == tensors[6]);
  CHECK(outputs[0] == host.calls[1].result);
}

TEST_CASE_FIXTURE(Made<Scale>, "a frame with too few tensors is rejected") {
  for (int i = 0; i < 6; ++i) tensors.push_back(host.make_tensor({3}));
  CHECK(forward(1, {host.make_tensor({2, 3}), host.make_tensor({2, 3})}, 1) == TENON_INVALID_ARGUMENT);
  CHECK(host.failure == "the frame has no tensor 6; the number of its tensors is 6");
}

TEST_CASE_FIXTURE(Made<Split>, "several outputs are returned in order") {
  tenon_tensor* input = host.make_tensor({2});
  REQUIRE(forward(1, {input}, 2) == TENON_OK);
  CHECK(outputs[0] == input);
  CHECK(outputs[1] == host.calls.at(0).result);
}

TEST_CASE_FIXTURE(Made<Split>, "fewer outputs than ports are an error") {
  CHECK(forward(0, {host.make_tensor({2})}, 2) == TENON_INVALID_ARGUMENT);
  CHECK(host.failure == "forward returned 1 outputs; the number of output ports is 2");
}

TEST_CASE_FIXTURE(Made<Extended>, "a model has the extensions that its class defines, and no others") {
  const auto& capture = extension<tenon_capture>(TENON_CAPTURE);
  CHECK(capture.size == sizeof(tenon_capture));
  uint32_t is_capturable = 0;
  REQUIRE(capture.is_capturable(self, &is_capturable) == TENON_OK);
  CHECK(is_capturable == 1);

  const tenon_index_input* const* inputs = nullptr;
  uint64_t count = 0;
  REQUIRE(extension<tenon_index_inputs>(TENON_INDEX_INPUTS).inputs(self, &inputs, &count) == TENON_OK);
  REQUIRE(count == 1);
  CHECK(inputs[0]->limit == 7);

  CHECK_FALSE(component.get_extension(to_string("tenon.capture/2")));
  CHECK_FALSE(component.get_extension(to_string("")));
}

TEST_CASE_FIXTURE(Made<Scale>, "a model without extensions has no such function") {
  CHECK((component.get_extension == nullptr));
}

TEST_CASE_FIXTURE(Made<Continued>, "a model continues sequences with the cache of the previous call") {
  const auto& decoding = extension<tenon_decoding>(TENON_DECODING);
  const tenon_decoding_info* info = nullptr;
  REQUIRE(decoding.describe(self, &info) == TENON_OK);
  CHECK(to_text(info->tokens) == "tokens");
  CHECK(to_text(info->scores) == "scores");
  CHECK(info->cache_count == 2);
  CHECK(info->context == 9);

  tenon_tensor* inputs[] = {host.make_tensor({2, 3}), host.make_tensor({2, 4})};
  tenon_tensor *cache[] = {nullptr, nullptr}, *next[] = {nullptr, nullptr}, *scores = nullptr;
  const tenon_frame within = frame(0), training = frame(1);
  REQUIRE(decoding.forward(self, &within, inputs, 2, nullptr, cache, 2, &scores) == TENON_OK);
  CHECK(cache[0] == inputs[0]);
  CHECK(cache[1] == inputs[1]);
  tenon_tensor* more[] = {nullptr, host.make_tensor({2, 1})};
  REQUIRE(decoding.forward(self, &within, more, 2, cache, next, 2, &scores) == TENON_OK);
  CHECK(scores == more[1]);
  CHECK(next[0] == inputs[0]);
  CHECK(next[1] == host.calls.at(0).result);
  CHECK(decoding.forward(self, &training, inputs, 2, nullptr, next, 2, &scores) == TENON_INVALID_ARGUMENT);
  CHECK(host.failure == "decode returned a cache of 1 tensors; decoding() declares 2");
}

}  // namespace model_test
