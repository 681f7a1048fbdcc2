// Holds the loop to the order that tenon/callback.h promises.
#include "framework/pipeline/events.h"

#include <filesystem>
#include <fstream>
#include <regex>

#include "framework/support/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"
#include "tests/test_folder.h"

using namespace tenon::pipeline;

namespace {

// The names of the events, in order, that a callback plugin was told of.
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

constexpr const char* kStep =
    "batch_fetched step_start forward_end loss_end backward_end grads_ready optimizer_before optimizer_after step_end ";
constexpr const char* kValidation = "validation_start validation_batch_end validation_end ";
constexpr const char* kCheckpoint = "checkpoint_before checkpoint_after ";

// Throws when it is told of the event.
struct Throwing final : Observer {
  explicit Throwing(Event event_) : event(event_) {}
  bool wants(Event asked) const override { return asked == event; }
  void on_event(Event, const RunState&, Verdict&) override {
    throw tenon::support::Error(tenon::support::ErrorKind::plugin, "thrown");
  }
  Event event;
};

// Notes the events that it is told of.
struct Noting final : Observer {
  bool wants(Event) const override { return true; }
  void on_event(Event event, const RunState&, Verdict&) override { told.push_back(event); }
  std::vector<Event> told;
};

// An observer that notes who was told, in which order.
struct Named final : Observer {
  Named(std::string name_, int32_t priority_, std::string& told_)
      : name(std::move(name_)), order(priority_), told(told_) {}
  bool wants(Event event) const override { return event == Event::log; }
  int32_t priority() const override { return order; }
  void on_event(Event, const RunState&, Verdict&) override { told += name; }
  std::string name;
  int32_t order;
  std::string& told;
};

}  // namespace

TEST_CASE("the events of a run come in the documented order") {
  const std::string step = kStep;
  // Here each validation is better than the one before.
  const std::string expected =
      std::string("run_setup run_start ") + kValidation + kCheckpoint +                                          //
      "epoch_start " + step + step + "log " + step + step + "log " + kValidation + kCheckpoint + "epoch_end " +  //
      "epoch_start " + step + "epoch_end " + kValidation + kCheckpoint + "run_end run_teardown ";
  CHECK(events_of({"train={steps=5}", "log.every=\"2 steps\"", "validation.at_start=true"}) == expected);
}

TEST_CASE("a run that fails tells run_exception and run_teardown in place of run_end") {
  const std::string events = events_of({"optimizer.lr=1e30"}, true);
  CHECK(events.ends_with("run_exception run_teardown "));
  CHECK(events.find("run_end") == std::string::npos);
}

TEST_CASE("several validation sets end with one validation_end, when the figures of all are there") {
  BuiltRun run(
      {{"data.validation={test={use=\"digits\",params={split=\"test\"}},seen={use=\"digits\"}}", "train={steps=1}"}});
  struct Reading final : Observer {
    bool wants(Event event) const override { return event == Event::validation_end; }
    void on_event(Event, const RunState& state, Verdict&) override {
      ++times;
      has_both = state.figures.contains("validation/test/loss") && state.figures.contains("validation/seen/loss");
    }
    int times = 0;
    bool has_both = false;
  } reading;
  run.train({&reading});
  CHECK(reading.times == 1);
  CHECK(reading.has_both);
}

TEST_CASE("who fails at the end keeps nobody else from hearing, and does not change the outcome") {
  for (const Event event : {Event::run_exception, Event::run_teardown}) {
    BuiltRun run({{"optimizer.lr=1e30"}});
    Throwing throwing(event);
    Noting noting;
    try {
      run.train({&throwing, &noting});
      FAIL("the run went on");
    } catch (const tenon::support::Error& error) {
      CHECK(error.kind() == tenon::support::ErrorKind::non_finite);
    }
    REQUIRE(noting.told.size() > 2);
    CHECK(noting.told[noting.told.size() - 2] == Event::run_exception);
    CHECK(noting.told.back() == Event::run_teardown);
  }
  BuiltRun run({{"train={steps=1}"}});
  Throwing throwing(Event::run_teardown);
  CHECK(run.train({&throwing}).end == RunReport::End::finished);
}

TEST_CASE("a failure in run_setup is told as any other") {
  BuiltRun run({});
  Throwing throwing(Event::run_setup);
  Noting noting;
  CHECK_THROWS_AS(run.train({&throwing, &noting}), tenon::support::Error);
  CHECK((noting.told == std::vector<Event>{Event::run_exception, Event::run_teardown}));
}

TEST_CASE("observers are told by priority, then in the order they were added") {
  std::string told;
  Named late("c", 5, told);
  Named first("a", -1, told);
  Named second("b", 5, told);
  StageTimes times;
  const Announcer announcer({&late, &first, &second}, times);
  Verdict verdict;
  announcer.announce(Event::log, {}, verdict);
  announcer.announce(Event::step_end, {}, verdict);  // nobody wants it
  CHECK(told == "acb");
}
