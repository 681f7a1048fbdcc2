// Tests that the loop dispatches events in the order that tenon/callback.h documents.
#include "framework/pipeline/state/events.h"

#include <filesystem>
#include <fstream>

#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

using namespace tenon::pipeline;

namespace {

// The names of the events that a callback plugin received, in order.
std::string events_of(std::vector<std::string> overrides, bool expect_failure = false) {
  const std::filesystem::path file = tenon::test_folder() / "events.txt";
  std::filesystem::remove(file);
  BuiltRun run({std::move(overrides),
                "[[callback]]\nuse = \"event_recorder\"\nparams = { file = \"" + file.string() + "\" }\n"});
  if (expect_failure)
    CHECK_THROWS_AS(run.train(), tenon::support::Error);
  else
    run.train();
  std::ifstream stream(file);
  std::string events;
  for (std::string name; std::getline(stream, name);) events += name + " ";
  return events;
}

constexpr const char* kStepEvents =
    "batch_fetched step_start forward_end loss_end backward_end grads_ready optimizer_before optimizer_after step_end ";
constexpr const char* kValidationEvents = "validation_start validation_batch_end validation_end ";
constexpr const char* kCheckpointEvents = "checkpoint_before checkpoint_after ";

// An observer that throws at the event.
struct Throwing final : Observer {
  explicit Throwing(Event event_) : event(event_) {}
  bool subscribes(Event requested) const override { return requested == event; }
  void on_event(Event, const RunState&, CallbackRequests&) override {
    throw tenon::support::Error(tenon::support::ErrorKind::plugin, "thrown");
  }
  Event event;
};

// An observer that records the events it receives.
struct Noting final : Observer {
  bool subscribes(Event) const override { return true; }
  void on_event(Event event, const RunState&, CallbackRequests&) override { received.push_back(event); }
  std::vector<Event> received;
};

// An observer that records the order in which observers are called.
struct Named final : Observer {
  Named(std::string name_, int32_t priority_, std::string& received_)
      : name(std::move(name_)), order(priority_), received(received_) {}
  bool subscribes(Event event) const override { return event == Event::log; }
  int32_t priority() const override { return order; }
  void on_event(Event, const RunState&, CallbackRequests&) override { received += name; }
  std::string name;
  int32_t order;
  std::string& received;
};

}  // namespace

TEST_CASE("the events of a run come in the documented order") {
  const std::string step = kStepEvents;
  // Each validation in this run is better than the previous one.
  const std::string expected = std::string("run_setup run_start ") + kValidationEvents + kCheckpointEvents +  //
                               "epoch_start " + step + step + "log " + step + step + "log " + kValidationEvents +
                               kCheckpointEvents + "epoch_end " +  //
                               "epoch_start " + step + "epoch_end " + kValidationEvents + kCheckpointEvents +
                               "run_end run_teardown ";
  CHECK(events_of({"train={steps=5}", "log.every=\"2 steps\"", "validation.at_start=true"}) == expected);
}

TEST_CASE("a failed run dispatches run_exception and run_teardown instead of run_end") {
  const std::string events = events_of({"optimizer.lr=1e30"}, true);
  CHECK(events.ends_with("run_exception run_teardown "));
  CHECK(events.find("run_end") == std::string::npos);
}

TEST_CASE("several validation sets end with one validation_end that has the metrics of all") {
  BuiltRun run(
      {{"data.validation={test={use=\"digits\",params={split=\"test\"}},seen={use=\"digits\"}}", "train={steps=1}"}});
  struct Reading final : Observer {
    bool subscribes(Event event) const override { return event == Event::validation_end; }
    void on_event(Event, const RunState& state, CallbackRequests&) override {
      ++times;
      has_both = state.metrics.contains("validation/test/loss") && state.metrics.contains("validation/seen/loss");
    }
    int times = 0;
    bool has_both = false;
  } reading;
  run.train({&reading});
  CHECK(reading.times == 1);
  CHECK(reading.has_both);
}

TEST_CASE("an observer that fails at the end does not skip the others or change the result") {
  for (const Event event : {Event::run_exception, Event::run_teardown}) {
    BuiltRun run({{"optimizer.lr=1e30"}});
    Throwing throwing(event);
    Noting noting;
    CHECK(tenon::find_error(tenon::support::ErrorKind::non_finite, [&] {
            run.train({&throwing, &noting});
          }) != "accepted");
    REQUIRE(noting.received.size() > 2);
    CHECK(noting.received[noting.received.size() - 2] == Event::run_exception);
    CHECK(noting.received.back() == Event::run_teardown);
  }
  BuiltRun run({{"train={steps=1}"}});
  Throwing throwing(Event::run_teardown);
  CHECK(run.train({&throwing}).end == RunReport::End::finished);
}

TEST_CASE("a failure in run_setup is dispatched like any other") {
  BuiltRun run({});
  Throwing throwing(Event::run_setup);
  Noting noting;
  CHECK_THROWS_AS(run.train({&throwing, &noting}), tenon::support::Error);
  CHECK((noting.received == std::vector<Event>{Event::run_exception, Event::run_teardown}));
}

TEST_CASE("observers are called by priority, then in the order they were added") {
  std::string received;
  Named late("c", 5, received);
  Named first("a", -1, received);
  Named second("b", 5, received);
  StageTimes times;
  const EventDispatcher dispatcher({&late, &first, &second}, times);
  CallbackRequests requests;
  dispatcher.dispatch(Event::log, {}, requests);
  dispatcher.dispatch(Event::step_end, {}, requests);  // without subscribers
  CHECK(received == "acb");
}
