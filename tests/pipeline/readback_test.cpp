#include "framework/pipeline/device/readback.h"

#include <cmath>

#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

struct Trained {
  std::vector<RecordedLine> lines;
  std::map<std::string, at::Tensor> weights;
};

// Trains with values that arrive a number of steps late, as from a device.
Trained train_with_lag(size_t lag, const std::vector<std::string>& overrides, const std::string& more = "") {
  BuiltRun run({overrides, more});
  run.training->readback_lag = lag;
  run.train();
  return {run.recorder.lines, run.recorder.weights};
}

void check_equal(const Trained& a, const Trained& b) {
  REQUIRE(a.lines.size() == b.lines.size());
  for (size_t i = 0; i < a.lines.size(); ++i) {
    REQUIRE(a.lines[i].metrics.size() == b.lines[i].metrics.size());
    for (size_t k = 0; k < a.lines[i].metrics.size(); ++k) {
      INFO(a.lines[i].metrics[k].first);
      const double left = a.lines[i].metrics[k].second, right = b.lines[i].metrics[k].second;
      CHECK((left == right || (std::isnan(left) && std::isnan(right))));
    }
  }
  for (const auto& [name, tensor] : a.weights) CHECK(torch::equal(tensor, b.weights.at(name)));
}

// Returns the error of a run that reads its values late, and its weights.
std::string failure_with_lag(size_t lag, const std::string& poison, std::map<std::string, at::Tensor>& weights) {
  BuiltRun run({{"log.every=\"never\"", "checkpoint.every=\"never\"", "validation.every=\"never\"", "train={steps=20}",
                 "data.batch_size=100"},
                poison});
  run.training->readback_lag = lag;
  const std::string message = tenon::find_error(tenon::support::ErrorKind::non_finite, [&] { run.train(); });
  for (const auto& named : run.training->model.tensors()) weights[named.name] = named.tensor.detach().clone();
  return message;
}

}  // namespace

TEST_CASE("values arrive in the order of their posts, as late as the device delivers them") {
  std::vector<double> read;
  Readback readback(c10::Device(c10::kCPU), 2);
  CHECK_FALSE(readback.is_immediate());
  for (double value : {1.0, 2.0, 3.0}) {
    readback.post({at::scalar_tensor(value), at::scalar_tensor(7, at::kLong)}, [&](const std::vector<double>& values) {
      REQUIRE(values.size() == 2);
      CHECK(values[1] == 7);
      read.push_back(values[0]);
    });
    readback.deliver_arrived();
  }
  CHECK(read == std::vector<double>{1.0});
  CHECK(readback.waits() == 0);
  readback.drain();
  CHECK(read == std::vector<double>{1.0, 2.0, 3.0});
  CHECK(readback.waits() == 2);
}

TEST_CASE("values of every dtype are read exactly") {
  const std::vector<at::Tensor> scalars{at::scalar_tensor(0.5, at::kHalf), at::scalar_tensor(0.25, at::kBFloat16),
                                        at::scalar_tensor(1e-300, at::kDouble), at::scalar_tensor(3, at::kInt)};
  Readback readback;
  CHECK(readback.is_immediate());
  readback.post(scalars, [](const std::vector<double>& values) {
    CHECK(values == std::vector<double>{0.5, 0.25, 1e-300, 3});
  });
  readback.deliver_arrived();
}

TEST_CASE("a run does not depend on when its values arrive") {
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>{"log.every=\"3 steps\""},
        std::vector<std::string>{"train.accumulate=3", "data.batch_size=100", "train.clip_norm=0.1"},
        std::vector<std::string>{"train.precision=\"fp16\"", "data.batch_size=100"},
        std::vector<std::string>{"train.average={use=\"ema\",decay=0.9}"}})
    check_equal(train_with_lag(5, overrides), train_with_lag(0, overrides));
}

TEST_CASE("nothing synchronises with the device between two lines of the history") {
  BuiltRun run({{"log.every=\"3 steps\"", "data.batch_size=100", "validation.every=\"never\"",
                 "checkpoint.every=\"never\"", "train={steps=14}"}});
  run.training->readback_lag = 100;
  struct Counting final : Observer {
    bool subscribes(Event event) const override { return event == Event::log || event == Event::step_end; }
    void on_event(Event event, const RunState& state, CallbackRequests&) override {
      (event == Event::log ? at_logs : at_steps).push_back(state.host_waits);
    }
    std::vector<int64_t> at_logs, at_steps;
  } counting;
  run.train({&counting});
  CHECK(counting.at_logs == std::vector<int64_t>{3, 6, 9, 12});  // one for each step
  CHECK(counting.at_steps == std::vector<int64_t>{0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9, 12, 12});
}

TEST_CASE("a non-finite step changes no weight, even if the host is notified late") {
  for (const auto& [poison, part] :
       {std::pair("nan_gradients", "layers.0.weight"),
        std::pair("nan_losses", "in step 5 (its inputs are finite); expected a finite number: lower optimizer.lr")}) {
    const std::string loss = std::string("[[loss]]\nuse = \"poisoned\"\nparams = { ") + poison + " = [5] }\n";
    std::map<std::string, at::Tensor> weights, late_weights;
    const std::string message = failure_with_lag(0, loss, weights);
    CHECK(failure_with_lag(4, loss, late_weights) == message);
    CHECK(tenon::contains(message, "in step 5"));
    CHECK(tenon::contains(message, part));
    for (const auto& [name, tensor] : weights) CHECK(torch::equal(tensor, late_weights.at(name)));
  }
}

TEST_CASE("non-finite steps are skipped if the run file sets non_finite to skip") {
  for (const size_t lag : {size_t{0}, size_t{3}}) {
    BuiltRun run({{"train={steps=9,non_finite=\"skip\"}", "data.batch_size=100", "log.every=\"1 step\""},
                  "[[loss]]\nuse = \"poisoned\"\nparams = { nan_gradients = [2, 5], nan_losses = [6] }\n"});
    run.training->readback_lag = lag;
    const RunReport report = run.train();
    CHECK(report.state.step == 9);
    const auto steps = run.recorder.of_kind(LineKind::step);
    REQUIRE(steps.size() == 9);
    CHECK(steps[0].at("train/skipped_steps") == 0);
    CHECK(steps[1].at("train/skipped_steps") == 1);
    CHECK(steps[8].at("train/skipped_steps") == 3);
  }
}

TEST_CASE("too many skipped steps in a row end the run") {
  for (const size_t lag : {size_t{0}, size_t{3}}) {
    BuiltRun run({{"train={steps=12,non_finite=\"skip\",max_skipped_steps=2}", "data.batch_size=100"},
                  "[[loss]]\nuse = \"poisoned\"\nparams = { nan_gradients = [2, 4, 5, 6, 7] }\n"});
    run.training->readback_lag = lag;
    CHECK_THROWS_WITH_AS(run.train(), doctest::Contains("in step 6, after 2 steps in a row were skipped"),
                         tenon::support::Error);
  }
}

TEST_CASE("an overflow in fp16 halves the scale and skips the step") {
  BuiltRun run({{"train={steps=6,precision=\"fp16\"}", "data.batch_size=100", "log.every=\"1 step\""},
                "[[loss]]\nuse = \"poisoned\"\nparams = { nan_gradients = [3] }\n"});
  run.train();
  const auto steps = run.recorder.of_kind(LineKind::step);
  REQUIRE(steps.size() == 6);
  CHECK(steps[1].at("train/loss_scale") == 65536);
  CHECK(steps[2].at("train/loss_scale") == 65536);  // used in the skipped step
  CHECK(steps[3].at("train/loss_scale") == 32768);
  CHECK(steps[5].at("train/skipped_steps") == 1);
  CHECK(torch::equal(*&run.training->scaler->factor(), at::scalar_tensor(32768.0f)));
}
