#include <doctest/doctest.h>

#include <tenon/plugin.hpp>

#include "tests/plugin_api/made_component.h"

namespace loss_metric_test {

using namespace tenon::test;

namespace {

class BySample final {
 public:
  std::vector<tenon::Port> ports() const { return {tenon::input("output", "N")}; }
  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    if (inputs["output"].numel() == 0) throw tenon::Error(TENON_UNSUPPORTED, "an empty batch");
    return {sum(inputs[0]), 2.0};
  }
  bool is_capturable() const { return false; }
};

class Misspelt final {
 public:
  std::vector<tenon::Port> ports() const { return {tenon::input("output", "N"), tenon::input("target", "N")}; }
  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    return {sum(inputs["label"]), 1.0};
  }
};

class InParts final {
 public:
  std::vector<tenon::Port> ports() const { return {tenon::input("output", "N")}; }
  std::vector<std::string> parts() const { return {"first", "second"}; }
  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    tenon::LossResult result(sum(inputs[0]), 2.0);
    if (inputs[0].numel() > 0) result.parts = {inputs[0], tenon::Tensor()};
    return result;
  }
};

class Largest final {
 public:
  std::vector<tenon::Port> ports() const { return {tenon::input("output", "N")}; }
  std::vector<tenon::State> states() const {
    return {{"count", TENON_INT64}, {"largest", TENON_INT64, {1}, TENON_REDUCE_MAX, -5}};
  }
  std::vector<tenon::MetricValue> values() const {
    return {tenon::higher_is_better("largest", "no unit"), tenon::lower_is_better("count", "samples")};
  }
  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const { frame.tensor(0) += inputs[0]; }
  std::vector<double> compute(const tenon::Frame& frame) const {
    return {frame.tensor(1).number(), frame.tensor(0).number()};
  }
};

template <class Table>
struct Made : MadeComponent<Table> {
  explicit Made(tenon::Component made) : MadeComponent<Table>(std::move(made)) {}

  using MadeComponent<Table>::host;
  std::vector<tenon_tensor*> states = {host.make_tensor({}, {8}), host.make_tensor({1}, {3})};
  tenon_frame frame = {sizeof frame, states.data(), states.size(), 0, 0, 1, 0, 0, 1, 0};
};

template <class T>
struct MadeLoss : Made<tenon_loss> {
  MadeLoss() : Made(tenon::loss<T>("id", "doc")) { result.size = sizeof result; }
  tenon_status forward(std::vector<tenon_tensor*> inputs) {
    return table.forward(self, &frame, inputs.data(), inputs.size(), &result);
  }
  tenon_loss_result result = {};
};

struct MadeMetric : Made<tenon_metric> {
  MadeMetric() : Made(tenon::metric<Largest>("id", "doc")) {}
};

}  // namespace

TEST_CASE_FIXTURE(MadeLoss<BySample>, "a loss returns its mean and its weight") {
  REQUIRE(forward({host.make_tensor({2})}) == TENON_OK);
  CHECK(result.loss == host.calls.at(0).result);
  CHECK(result.weight == 2.0);
  CHECK(result.weight_tensor == nullptr);
}

TEST_CASE_FIXTURE(MadeLoss<BySample>, "an exception of a loss becomes a status and a message") {
  CHECK(forward({host.make_tensor({0})}) == TENON_UNSUPPORTED);
  CHECK(host.failure == "an empty batch");
}

TEST_CASE_FIXTURE(MadeLoss<Misspelt>, "an unknown input port is refused with the names of the ports") {
  CHECK(forward({host.make_tensor({1}), host.make_tensor({1})}) == TENON_NOT_FOUND);
  CHECK(host.failure == "there is no input port \"label\"; the input ports are: output, target");
}

TEST_CASE_FIXTURE(MadeLoss<BySample>, "a loss without parts has no such function") { CHECK((table.parts == nullptr)); }

TEST_CASE_FIXTURE(MadeLoss<BySample>, "a loss reports whether it can be captured") {
  uint32_t is_capturable = 1;
  REQUIRE(extension<tenon_capture>(TENON_CAPTURE).is_capturable(self, &is_capturable) == TENON_OK);
  CHECK(is_capturable == 0);
  CHECK((tenon::loss<InParts>("id", "doc").get_extension == nullptr));
}

TEST_CASE_FIXTURE(MadeLoss<InParts>, "a loss names its parts and returns them with the loss") {
  const tenon_string* names = nullptr;
  uint64_t count = 0;
  REQUIRE(table.parts(self, &names, &count) == TENON_OK);
  REQUIRE(count == 2);
  CHECK(to_text(names[1]) == "second");

  tenon_tensor* input = host.make_tensor({2});
  tenon_tensor* parts[2] = {nullptr, input};
  result.parts = parts;
  result.part_count = 2;
  REQUIRE(forward({input}) == TENON_OK);
  CHECK(parts[0] == input);
  CHECK(parts[1] == nullptr);
}

TEST_CASE_FIXTURE(MadeLoss<InParts>, "a loss that omits its parts receives an error with the declared number") {
  tenon_tensor* parts[2] = {};
  result.parts = parts;
  result.part_count = 2;
  CHECK(forward({host.make_tensor({0})}) == TENON_INVALID_ARGUMENT);
  CHECK(host.failure == "forward returned 0 parts; parts() returned 2");
}

TEST_CASE("rows are a state that is concatenated and starts empty") {
  const tenon::State state = tenon::rows("boxes", TENON_FLOAT32, {4});
  CHECK(state.shape == std::vector<int64_t>{0, 4});
  CHECK(state.reduction == TENON_REDUCE_CONCATENATE);
}

TEST_CASE_FIXTURE(MadeMetric, "a metric describes its states and values") {
  const tenon_state* const* described = nullptr;
  uint64_t count = 0;
  REQUIRE(table.states(self, &described, &count) == TENON_OK);
  REQUIRE(count == 2);
  CHECK(to_text(described[0]->name) == "count");
  CHECK(described[0]->ndim == 0);
  CHECK(described[0]->reduction == TENON_REDUCE_SUM);
  CHECK(described[0]->initial == 0);
  CHECK(described[1]->shape[0] == 1);
  CHECK(described[1]->reduction == TENON_REDUCE_MAX);
  CHECK(described[1]->initial == -5);
  const tenon_metric_value* const* values = nullptr;
  REQUIRE(table.values(self, &values, &count) == TENON_OK);
  REQUIRE(count == 2);
  CHECK(to_text(values[0]->name) == "largest");
  CHECK(values[0]->direction == 1);
  CHECK(values[1]->direction == -1);
}

TEST_CASE_FIXTURE(MadeMetric, "update adds to the state in place") {
  tenon_tensor* input = host.make_tensor({2});
  REQUIRE(table.update(self, &frame, &input, 1) == TENON_OK);
  CHECK(host.calls.at(0).op == "aten::add_.Tensor");
  CHECK(host.calls[0].args[0].as.p == states[0]);
}

TEST_CASE_FIXTURE(MadeMetric, "compute returns the values in their order") {
  double values[2] = {0, 0};
  REQUIRE(table.compute(self, &frame, values, 2) == TENON_OK);
  CHECK(values[0] == 3);
  CHECK(values[1] == 8);
}

TEST_CASE_FIXTURE(MadeMetric, "a host that expects another number of values receives an error") {
  double value = 0;
  CHECK(table.compute(self, &frame, &value, 1) == TENON_INVALID_ARGUMENT);
  CHECK(host.failure == "compute returned 2 values; values() returned 1");
}

}  // namespace loss_metric_test
