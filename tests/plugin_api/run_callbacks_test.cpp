// Tests the bundled callbacks run_guards and run_statistics with the events of fake runs.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "tests/plugin_api/fake_host.h"
#include "tests/plugin_api/load_entry.h"

namespace run_callbacks_test {

using namespace tenon::test;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The run as a callback sees it, and the values that it logged.
struct FakeRun {
  std::map<std::string, double> metrics;
  std::map<std::string, int32_t> directions;
  std::map<std::string, double> scalars;  // values logged at the latest event
  double loss = kNaN;
  int64_t samples_in_epoch = 0;
  tenon_run base = {};

  FakeRun() {
    base.size = sizeof base;
    base.context = this;
    base.metric = [](const tenon_run* run, tenon_string name, double* value) -> tenon_status {
      const auto& known = of(run).metrics;
      const auto found = known.find(to_text(name));
      if (found == known.end()) return TENON_NOT_FOUND;
      *value = found->second;
      return TENON_OK;
    };
    base.log_scalar = [](const tenon_run* run, tenon_string name, double value) -> tenon_status {
      of(run).scalars[to_text(name)] = value;
      return TENON_OK;
    };
    base.step_loss = [](const tenon_run* run, uint32_t, double* loss, int64_t* step) -> tenon_status {
      *loss = of(run).loss;
      *step = run->step;
      return TENON_OK;
    };
  }
  static FakeRun& of(const tenon_run* run) { return *static_cast<FakeRun*>(run->context); }
};

const tenon_run_progress kProgress = {sizeof kProgress, [](const tenon_run* run, tenon_progress* out) -> tenon_status {
                                        out->samples_in_epoch = FakeRun::of(run).samples_in_epoch;
                                        return TENON_OK;
                                      }};

const tenon_run_metrics kMetrics = {sizeof kMetrics,
                                    [](const tenon_run* run, tenon_string name, int32_t* direction) -> tenon_status {
                                      const auto& known = FakeRun::of(run).directions;
                                      const auto found = known.find(to_text(name));
                                      if (found == known.end()) return TENON_NOT_FOUND;
                                      *direction = found->second;
                                      return TENON_OK;
                                    }};

// One host for all callbacks that currently exist.
std::shared_ptr<FakeHost> share_host() {
  static std::weak_ptr<FakeHost> shared;
  std::shared_ptr<FakeHost> host = shared.lock();
  if (!host) shared = host = std::make_shared<FakeHost>();
  return host;
}

// A component of a plugin file, created with parameters.
class Callback {
 public:
  Callback(const std::string& plugin, const std::string& id, std::map<std::string, tenon_value> values) {
    host_->extensions[TENON_RUN_PROGRESS] = &kProgress;
    host_->extensions[TENON_RUN_METRICS] = &kMetrics;
    component_ = &find_component(host_->open(load_entry(plugin)), id);
    params_ = {std::move(values)};
    status = table().create(host_->table(), &params_, &self_);
  }
  ~Callback() {
    if (self_) table().destroy(self_);
  }
  Callback(const Callback&) = delete;

  // Discards the scalars of the previous event.
  tenon_status dispatch(uint32_t event) {
    run.scalars.clear();
    uint64_t events = 0;
    int32_t priority = 0;
    CHECK(table().subscribe(self_, &events, &priority) == TENON_OK);
    tenon_requests requests = {sizeof requests, 0, 0, {nullptr, 0}};
    tenon_status received = TENON_OK;
    if (events & TENON_EVENT_BIT(event)) received = table().on_event(self_, event, &run.base, &requests);
    flags = requests.flags;
    reason = to_text(requests.reason);
    return received;
  }

  uint32_t flags_after(uint32_t event) {
    CHECK(dispatch(event) == TENON_OK);
    return flags;
  }

  std::string save() {
    tenon_string bytes = {};
    REQUIRE(state().save(self_, &bytes) == TENON_OK);
    return to_text(bytes);
  }
  tenon_status load(const std::string& bytes) { return state().load(self_, to_string(bytes.c_str())); }

  const std::string& failure() const { return host_->failure; }

  FakeRun run;
  tenon_status status = TENON_OK;  // status of create
  uint32_t flags = 0;
  std::string reason;

 private:
  const tenon_callback& table() const { return table_of<tenon_callback>(*component_); }
  const tenon_saved_state& state() const {
    const void* found = component_->get_extension ? component_->get_extension(to_string(TENON_SAVED_STATE)) : nullptr;
    REQUIRE(found);
    return *static_cast<const tenon_saved_state*>(found);
  }

  std::shared_ptr<FakeHost> host_ = share_host();
  tenon_params params_;
  const tenon_component* component_ = nullptr;
  void* self_ = nullptr;
};

tenon_value text(const char* value) { return tenon_text(value, std::strlen(value)); }

struct TimeLimit : Callback {
  explicit TimeLimit(const char* budget, const char* margin = "0 seconds", bool measure = true)
      : Callback("run_guards", "time_limit",
                 {{"budget", text(budget)}, {"margin", text(margin)}, {"measure", tenon_bool(measure)}}) {}
};

struct NanGuard : Callback {
  explicit NanGuard(const char* action = "stop", int64_t patience = 2, const std::vector<std::string>& metrics = {})
      : Callback("run_guards", "nan_guard", values(action, patience, metrics)) {}

  static std::map<std::string, tenon_value> values(const char* action, int64_t patience,
                                                   const std::vector<std::string>& metrics) {
    static std::vector<tenon_string> texts;
    texts.clear();
    for (const std::string& metric : metrics) texts.push_back(to_string(metric.c_str()));
    return {{"monitor", tenon_list_value(TENON_VALUE_STRINGS, texts.data(), texts.size())},
            {"factor", tenon_float(10)},
            {"window", tenon_int(3)},
            {"patience", tenon_int(patience)},
            {"action", text(action)}};
  }

  // The step after which it requests a stop, or 0 for never.
  int64_t stops_after(const std::vector<double>& losses) {
    for (const double loss : losses) {
      ++run.base.step;
      run.loss = loss;
      if (flags_after(TENON_STEP_END) & TENON_REQUEST_STOP) return run.base.step;
    }
    return 0;
  }
};

struct BestCheckpoints : Callback {
  explicit BestCheckpoints(const char* mode = "min", int64_t top = 1, double min_delta = 0)
      : Callback("run_guards", "best_checkpoints",
                 {{"monitor", text("validation/loss")},
                  {"mode", text(mode)},
                  {"top", tenon_int(top)},
                  {"min_delta", tenon_float(min_delta)}}) {}

  // Starts a run with a metric of this direction. `direction`: as reported by the extension.
  tenon_status set_up(int32_t direction) {
    run.metrics["validation/loss"] = kNaN;
    run.directions["validation/loss"] = direction;
    return dispatch(TENON_RUN_SETUP);
  }

  // Whether it requests a checkpoint, for the value of each validation.
  std::vector<bool> saves_at(const std::vector<double>& values) {
    std::vector<bool> saves;
    for (const double value : values) {
      run.metrics["validation/loss"] = value;
      saves.push_back((flags_after(TENON_VALIDATION_END) & TENON_REQUEST_SAVE) != 0);
    }
    return saves;
  }
};

struct Throughput : Callback {
  Throughput() : Callback("run_statistics", "throughput", {{"memory", tenon_bool(true)}}) {}

  void at(double time_s, uint32_t event) {
    run.base.time_s = time_s;
    CHECK(dispatch(event) == TENON_OK);
  }
  void step(double time_s, int64_t samples) {
    run.samples_in_epoch += samples;
    at(time_s, TENON_STEP_END);
  }
};

}  // namespace

TEST_CASE("time_limit requests nothing while time is left, and then a stop with a checkpoint") {
  TimeLimit long_one("10000 hours");
  CHECK(long_one.flags_after(TENON_STEP_END) == 0);
  // The process started before this line.
  TimeLimit over("0 seconds");
  CHECK(over.flags_after(TENON_STEP_END) == (TENON_REQUEST_STOP | TENON_REQUEST_SAVE));
  CHECK(over.reason == "0 s of 0 seconds are left; 0 s are reserved for the end of the run");
}

TEST_CASE("time_limit reserves the margin, and the longest times of a validation and a checkpoint") {
  TimeLimit margin("10000 hours", "10000.5 hours");
  CHECK(margin.flags_after(TENON_STEP_END) != 0);
  for (const bool measure : {true, false}) {
    TimeLimit measured("1000 hours", "0 seconds", measure);
    const auto lasts = [&](uint32_t begin, uint32_t end, double hours) {
      measured.dispatch(begin);
      measured.run.base.time_s += 3600 * hours;
      measured.dispatch(end);
    };
    lasts(TENON_VALIDATION_START, TENON_VALIDATION_END, 500);
    lasts(TENON_VALIDATION_START, TENON_VALIDATION_END, 1);
    CHECK(measured.flags_after(TENON_STEP_END) == 0);
    lasts(TENON_CHECKPOINT_BEFORE, TENON_CHECKPOINT_AFTER, 300);
    CHECK((measured.flags_after(TENON_STEP_END) != 0) == measure);
  }
}

TEST_CASE("time_limit measures a validation of several sets as one") {
  TimeLimit limit("100 hours");
  limit.dispatch(TENON_VALIDATION_START);
  limit.run.base.time_s += 3600 * 60;
  limit.dispatch(TENON_VALIDATION_START);
  limit.run.base.time_s += 3600 * 60;
  limit.dispatch(TENON_VALIDATION_END);
  CHECK(limit.flags_after(TENON_STEP_END) != 0);
}

TEST_CASE("a budget that is not a duration is rejected") {
  for (const char* budget : {"", "55", "minutes", "55 minuets", "-1 hours", "nan hours", "1 hour more", "5  minutes"}) {
    CAPTURE(budget);
    const TimeLimit limit(budget);
    CHECK(limit.status == TENON_INVALID_ARGUMENT);
    CHECK(limit.failure() == "params.budget is \"" + std::string(budget) +
                                 "\"; expected a time such as \"55 minutes\", \"1.5 hours\" or \"90 seconds\"");
  }
  for (const char* budget : {"1 second", "55 minutes", "1.5 hours", "1e3 seconds"})
    CHECK(TimeLimit(budget).status == TENON_OK);
}

TEST_CASE("nan_guard stops after as many consecutive spikes as its patience") {
  NanGuard guard;
  CHECK(guard.stops_after({1, 2, 3, 25, 2, 2, 21, 30, 1}) == 8);
  CHECK(guard.reason == "the step loss is 30, more than 10 times the median 2, 2 times in a row");
}

TEST_CASE("nan_guard ignores a slow rise, and any finite value before its window is full") {
  CHECK(NanGuard().stops_after({1e-3, 1e3, 1e6, 1, 1, 1}) == 0);
  CHECK(NanGuard().stops_after({1, 2, 4, 8, 16, 32, 64, 128, 256, 512}) == 0);
}

TEST_CASE("nan_guard always counts NaN and infinity as spikes") {
  NanGuard guard;
  CHECK(guard.stops_after({kNaN, std::numeric_limits<double>::infinity()}) == 2);
  CHECK(guard.reason == "the step loss is inf, 2 times in a row");
  CHECK(guard.run.scalars.at("nan_guard/spikes") == 2);
}

TEST_CASE("nan_guard checks a late loss once") {
  NanGuard guard;
  guard.run.loss = kNaN;
  guard.run.base.step = 1;
  for (int i = 0; i < 5; ++i) {
    CHECK(guard.flags_after(TENON_STEP_END) == 0);
  }
}

TEST_CASE("nan_guard can log instead of stopping") {
  NanGuard guard("log", 1);
  CHECK(guard.stops_after({kNaN, kNaN, kNaN}) == 0);
  CHECK(guard.run.scalars.at("nan_guard/spikes") == 3);
}

TEST_CASE("nan_guard checks metrics when they are new, and values of other callbacks once they exist") {
  NanGuard guard("stop", 2, {"validation/loss", "train/loss", "other/norm"});
  guard.run.metrics = {{"validation/loss", kNaN}, {"train/loss", 1}};
  CHECK(guard.dispatch(TENON_RUN_SETUP) == TENON_OK);
  for (int i = 0; i < 5; ++i) {
    CHECK(guard.flags_after(TENON_LOG) == 0);
  }
  guard.run.metrics["other/norm"] = 1;
  CHECK(guard.dispatch(TENON_LOG) == TENON_OK);
  CHECK(guard.flags_after(TENON_VALIDATION_END) == 0);
  CHECK(guard.dispatch(TENON_LOG) == TENON_OK);
  CHECK(guard.flags_after(TENON_VALIDATION_END) == TENON_REQUEST_STOP);
  CHECK(guard.reason.find("validation/loss is nan") == 0);
}

TEST_CASE("nan_guard resumes from its saved state as if it had not stopped") {
  NanGuard first("stop", 2, {"train/loss"}), second("stop", 2, {"train/loss"});
  CHECK(first.stops_after({1, 2, 3, 25}) == 0);
  const std::string state = first.save();
  REQUIRE(second.load(state) == TENON_OK);
  CHECK(second.save() == state);
  second.run.base.step = first.run.base.step;
  CHECK(first.stops_after({25}) == 5);
  CHECK(second.stops_after({25}) == 5);
  CHECK(second.reason == first.reason);
  for (const std::string& foreign : {std::string(), std::string("early_stopping/1 1"), state + " 1",
                                     state.substr(0, state.size() / 2), std::string("nan_guard/1 -1 0 1")}) {
    CAPTURE(foreign);
    CHECK(second.load(foreign) == TENON_INVALID_ARGUMENT);
  }
  CHECK(NanGuard().load(state) == TENON_INVALID_ARGUMENT);  // it monitors another number of metrics
}

TEST_CASE("best_checkpoints uses the direction that the run reports for the metric") {
  BestCheckpoints larger("auto"), smaller("auto");
  CHECK(larger.set_up(1) == TENON_OK);
  CHECK(larger.saves_at({1, 2, 1.5, 3}) == std::vector<bool>{true, true, false, true});
  CHECK(smaller.set_up(-1) == TENON_OK);
  CHECK(smaller.saves_at({3, 2, 2.5, 1}) == std::vector<bool>{true, true, false, true});
}

TEST_CASE("a metric of unknown direction requires a mode") {
  BestCheckpoints callback("auto");
  CHECK(callback.set_up(0) != TENON_OK);
  CHECK(callback.failure().find("it is unknown whether a lower or a higher validation/loss is better; set \"min\" "
                                "or \"max\"") != std::string::npos);
  BestCheckpoints received("max");
  CHECK(received.set_up(0) == TENON_OK);
}

TEST_CASE("best_checkpoints requests a checkpoint when the metric is the best so far") {
  BestCheckpoints best;
  CHECK(best.saves_at({3, 4, 2, 2, kNaN, 1}) == std::vector<bool>{true, false, true, false, false, true});
  CHECK(best.reason == "validation/loss is 1, number 1 of the best values so far");
  CHECK(best.run.scalars.at("best_checkpoints/best") == 1);
  CHECK(BestCheckpoints("max").saves_at({3, 4, 2, 5}) == std::vector<bool>{true, true, false, true});
  CHECK(BestCheckpoints("min", 1, 0.5).saves_at({3, 2.6, 2.4}) == std::vector<bool>{true, false, true});
}

TEST_CASE("best_checkpoints requests checkpoints of the best few values") {
  BestCheckpoints best("min", 3);
  CHECK(best.saves_at({5, 6, 7, 8, 6.5, 6.75, 1, 5.5}) ==
        std::vector<bool>{true, true, true, false, true, false, true, true});
  CHECK(best.reason == "validation/loss is 5.5, number 3 of the best values so far");
  CHECK(best.run.scalars.at("best_checkpoints/best") == 1);
}

TEST_CASE("best_checkpoints remembers the best across a restart") {
  BestCheckpoints first("max", 2), second("max", 2);
  first.saves_at({0.1, 0.3, 0.2});
  const std::string state = first.save();
  REQUIRE(second.load(state) == TENON_OK);
  CHECK(second.save() == state);
  CHECK(second.saves_at({0.15, 0.25, 0.22}) == std::vector<bool>{false, true, false});
  for (const char* foreign : {"", "best_checkpoints/1", "best_checkpoints/1 3 0 0 0", "best_checkpoints/1 1 x"})
    CHECK(second.load(foreign) == TENON_INVALID_ARGUMENT);
}

TEST_CASE("throughput reports the speed since the last line, without validations and checkpoints") {
  Throughput callback;
  callback.at(10, TENON_EPOCH_START);
  callback.step(11, 8);
  callback.step(13, 8);
  callback.at(13.5, TENON_VALIDATION_START);  // half a second of the next step has passed
  callback.at(20, TENON_VALIDATION_START);
  callback.at(100, TENON_VALIDATION_END);
  callback.at(100, TENON_CHECKPOINT_BEFORE);
  callback.at(200, TENON_CHECKPOINT_AFTER);
  callback.step(202.5, 8);
  callback.at(202.5, TENON_LOG);
  const auto& scalars = callback.run.scalars;
  CHECK(scalars.at("throughput/steps_per_s") == doctest::Approx(3 / 6.0));
  CHECK(scalars.at("throughput/samples_per_s") == doctest::Approx(24 / 6.0));
  CHECK(scalars.at("throughput/step_ms_median") == doctest::Approx(2000));
  CHECK(scalars.at("throughput/step_ms_p95") == doctest::Approx(2900));  // numpy.quantile([1, 2, 3], 0.95)
  CHECK(scalars.at("throughput/memory_mib") > 1);
  CHECK(scalars.at("throughput/peak_memory_mib") >= scalars.at("throughput/memory_mib") * 0.5);
}

TEST_CASE("throughput counts samples across epochs, and reports nothing without a step") {
  Throughput callback;
  callback.at(0, TENON_EPOCH_START);
  callback.step(1, 100);
  callback.at(1, TENON_LOG);
  callback.run.samples_in_epoch = 0;
  callback.at(5, TENON_EPOCH_START);
  callback.step(7, 60);
  callback.at(7, TENON_LOG);
  CHECK(callback.run.scalars.at("throughput/samples_per_s") == doctest::Approx(30));
  callback.at(8, TENON_LOG);
  CHECK(callback.run.scalars.count("throughput/samples_per_s") == 0);
}

}  // namespace run_callbacks_test
