// Tests how the loop drives optimizer and schedule: the rate of each step, the start of each epoch, the monitored
// metric.
#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

// No metric improves by 90 %, so every validation except the first lowers the rate.
const char* const kPlateau = "schedule={use='reduce_on_plateau', patience=0, threshold=0.9";

std::vector<double> rates_of(const std::vector<std::string>& overrides) {
  BuiltRun run({overrides});
  run.train();
  std::vector<double> rates;
  for (const RecordedLine& line : run.recorder.of_kind(LineKind::epoch))
    rates.push_back(line.at("train/learning_rate"));
  return rates;
}

bool are_near(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != doctest::Approx(b[i])) return false;
  return true;
}

std::string refusal_in_training(const Setup& setup) {
  return error_of_training(tenon::support::ErrorKind::configuration, setup);
}

}  // namespace

TEST_CASE("reduce_on_plateau receives the metrics of each validation and of each training epoch") {
  CHECK(are_near(rates_of({"train.epochs=4", std::string(kPlateau) + "}"}), {0.1, 0.1, 0.01, 0.001}));
  CHECK(are_near(rates_of({"train.epochs=4", std::string(kPlateau) + ", monitor='train/loss'}"}),
                 {0.1, 0.1, 0.01, 0.001}));
}

TEST_CASE("a monitored metric that the run does not log is refused with the nearest name") {
  const std::string message = refusal_in_training({{std::string(kPlateau) + ", monitor='validation/los'}"}});
  CHECK(
      message.ends_with("schedule.monitor is \"validation/los\", which this run does not log; expected a metric of its "
                        "history; did you mean \"validation/loss\"?"));
}

TEST_CASE("reduce_on_plateau refuses the wrong mode for its metric") {
  const std::string accuracy = std::string(kPlateau) + ", monitor='validation/accuracy'";
  const std::string message = refusal_in_training({{accuracy + "}"}});
  CAPTURE(message);
  CHECK(message.ends_with(
      "schedule.mode is \"min\", but higher values of validation/accuracy are better; expected mode = \"max\""));
  CHECK(refusal_in_training({{accuracy + ", mode='max'}"}}) == "accepted");
  CHECK(refusal_in_training({{std::string(kPlateau) + ", mode='max'}"}}).ends_with("expected mode = \"min\""));
}

TEST_CASE("parameters frozen for an epoch keep their values in it and are trained after it") {
  const char* const kGroup = "\n[[optimizer.group]]\nmatch = [\"layers.0.*\"]\nfrozen_epochs = 1\n";
  for (const int epochs : {1, 2}) {
    CAPTURE(epochs);
    BuiltRun run({{"train.epochs=" + std::to_string(epochs)}, kGroup});
    std::map<std::string, at::Tensor> before;
    for (const auto& named : run.training->model.tensors()) before[named.name] = named.tensor.detach().clone();
    run.train();
    CHECK(at::equal(run.recorder.weights.at("layers.0.weight"), before.at("layers.0.weight")) == (epochs == 1));
    CHECK_FALSE(at::equal(run.recorder.weights.at("layers.1.weight"), before.at("layers.1.weight")));
  }
}

TEST_CASE("a group that matches no parameter of the model is refused before the run") {
  const std::string message =
      refusal_in_training({{}, "\n[[optimizer.group]]\nmatch = [\"layer.1.*\"]\nlr_scale = 2\n"});
  CHECK(message.find("optimizer.group.0.match has \"layer.1.*\", which matches no parameter") != message.npos);
  CHECK(message.ends_with("did you mean \"layers.1.*\"?"));
}
