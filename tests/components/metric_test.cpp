#include "framework/components/kinds/metric.h"

#include <cmath>
#include <tenon/plugin.hpp>

#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"

namespace metric_test {

using namespace tenon::components;

namespace {

// The median of all scores, which cannot be computed from a sum, and the number of batches.
struct Median {
  std::vector<tenon::Port> ports() const { return {tenon::input("scores", "N")}; }
  std::vector<tenon::State> states() const {
    return {tenon::rows("scores", TENON_FLOAT32), {"batches", TENON_INT64}, tenon::rows("pairs", TENON_INT64, {2})};
  }
  std::vector<tenon::MetricValue> values() const {
    return {tenon::neither_is_better("median", ""), tenon::neither_is_better("batches", ""),
            tenon::neither_is_better("rows_in_update", "")};
  }
  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    rows_in_update += frame.tensor(0).numel();
    frame.append(append_to, inputs["scores"]);
    frame.tensor(1) += 1;
  }
  std::vector<double> compute(const tenon::Frame& frame) const {
    std::vector<float> scores(frame.tensor(0).data<float>(), frame.tensor(0).data<float>() + frame.tensor(0).numel());
    if (scores.empty()) return {std::nan(""), frame.tensor(1).number(), 0};
    std::sort(scores.begin(), scores.end());
    return {scores[scores.size() / 2], frame.tensor(1).number(), static_cast<double>(rows_in_update)};
  }
  inline static uint64_t append_to = 0;
  mutable int64_t rows_in_update = 0;
};

struct WrongStates : Median {
  std::vector<tenon::State> states() const { return {{"scores", TENON_FLOAT32, {3}, TENON_REDUCE_CONCATENATE}}; }
};

const PluginInfo kPlugin{{"test", "1.0.0", "MIT", ""}, "test.so", "", TENON_ABI_CURRENT};

template <class T>
Component component_of(const char* id) {
  install_libtorch();
  tenon::detail::host = &host_table();
  static const tenon::Component made = tenon::metric<T>(id, "");
  return {{tenon::config::ComponentKind::metric, id, "", {}}, made.table, &kPlugin};
}

std::string refusal_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const tenon::support::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a metric's rows are collected over batches of any size and cleared by reset") {
  const Component component = component_of<Median>("median");
  Median::append_to = 0;
  Metric metric(component, {});
  for (int evaluation = 0; evaluation < 2; ++evaluation) {
    metric.reset();
    metric.update({}, {torch::tensor({5.0f, 1.0f})});
    metric.update({}, {torch::tensor({9.0f, 2.0f, 3.0f})});
    CHECK(metric.compute({}) == std::vector<double>{3, 2, 0});
  }
  metric.reset();
  CHECK(std::isnan(metric.compute({})[0]));
}

TEST_CASE("rows are copied, since the memory of a batch is reused") {
  const Component component = component_of<Median>("median");
  Metric metric(component, {});
  metric.reset();
  at::Tensor batch = torch::tensor({7.0f});
  metric.update({}, {batch});
  batch.fill_(0);
  CHECK(metric.compute({})[0] == 7);
}

TEST_CASE("rows that do not fit their state are refused with what was found and expected") {
  const Component component = component_of<Median>("median");
  Metric metric(component, {});
  metric.reset();
  Median::append_to = 1;
  CHECK(refusal_of([&] {
          metric.update({}, {torch::tensor({1.0f})});
        }).find("append: state 1 does not take rows here") != std::string::npos);
  Median::append_to = 2;
  CHECK(refusal_of([&] {
          metric.update({}, {torch::tensor({1.0f})});
        }).find("append: the rows are float32 [1]; expected int64 [0, 2]") != std::string::npos);
  Median::append_to = 7;
  CHECK(refusal_of([&] { metric.update({}, {torch::tensor({1.0f})}); }).find("append: state 7") != std::string::npos);
}

TEST_CASE("a concatenated state that declares rows is refused") {
  const Component component = component_of<WrongStates>("wrong");
  CHECK(refusal_of([&] { Metric metric(component, {}); }).find("has the shape [3]; expected 0 as the first extent") !=
        std::string::npos);
}

}  // namespace metric_test
