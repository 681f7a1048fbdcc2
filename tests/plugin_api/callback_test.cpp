#include <doctest/doctest.h>

#include <tenon/plugin.hpp>

#include "tests/plugin_api/fake_host.h"

using namespace tenon::test;

namespace {

class Named final {
 public:
  int32_t priority() const { return -7; }
  void on_step_end(const tenon::Run& run) { seen_ = run.step(); }
  void on_validation_end(const tenon::Run& run, tenon::Verdict& verdict) {
    if (run.figure("validation/loss") > 1) verdict.stop("the loss is " + std::to_string(seen_));
    verdict.save();
  }

 private:
  int64_t seen_ = 0;
};

class Any final {
 public:
  std::vector<tenon::Event> events() const { return {tenon::Event::run_start, tenon::Event::log}; }
  void on_event(tenon::Event event, const tenon::Run& run, tenon::Verdict&) const {
    run.log_scalar(tenon::to_string(event), run.learning_rate());
  }
  void on_run_end(const tenon::Run&, tenon::Verdict& verdict) const { verdict.log(); }
};

class All final {
 public:
  void on_event(tenon::Event, const tenon::Run&, tenon::Verdict&) const { throw std::runtime_error("told too much"); }
};

struct Logged {
  std::string name;
  double value = 0;
};

template <class T>
struct Made {
  Made() {
    host.open(tenon_plugin_open);
    REQUIRE(table.create(host.table(), &params, &self) == TENON_OK);
    run.figure = [](const tenon_run*, tenon_string name, double* value) -> tenon_status {
      *value = 2;
      return to_text(name) == "validation/loss" ? TENON_OK : TENON_NOT_FOUND;
    };
    run.log_scalar = [](const tenon_run* self, tenon_string name, double value) -> tenon_status {
      *static_cast<Logged*>(self->context) = {to_text(name), value};
      return TENON_OK;
    };
  }
  ~Made() { table.destroy(self); }

  tenon_status tell(uint32_t event) {
    verdict = {sizeof verdict, 0, 0, {nullptr, 0}};
    return table.on_event(self, event, &run, &verdict);
  }

  uint64_t subscribed() {
    uint64_t events = 0;
    REQUIRE(table.subscribe(self, &events, &priority) == TENON_OK);
    return events;
  }

  FakeHost host;
  tenon_params params;
  tenon::Component component = tenon::callback<T>("id", "doc");
  const tenon_callback& table = *static_cast<const tenon_callback*>(component.table);
  void* self = nullptr;
  Logged logged;
  tenon_run run = {sizeof run, &logged, 1, 23, 100, 50, 1.5, 0.25, 0, 1, nullptr, nullptr};
  tenon_verdict verdict = {};
  int32_t priority = 99;
};

}  // namespace

TEST_CASE_FIXTURE(Made<Named>, "a callback is subscribed to the events that it has functions for") {
  CHECK(subscribed() == (TENON_EVENT_BIT(TENON_STEP_END) | TENON_EVENT_BIT(TENON_VALIDATION_END)));
  CHECK(priority == -7);
}

TEST_CASE_FIXTURE(Made<Named>, "a callback's verdict and reason reach the host") {
  CHECK(tell(TENON_STEP_END) == TENON_OK);
  CHECK(verdict.asks == 0);
  CHECK(tell(TENON_VALIDATION_END) == TENON_OK);
  CHECK(verdict.asks == (TENON_ASK_STOP | TENON_ASK_SAVE));
  CHECK(to_text(verdict.reason) == "the loss is 23");
}

TEST_CASE_FIXTURE(Made<Any>, "events() chooses what on_event is told, beside the named functions") {
  CHECK(subscribed() ==
        (TENON_EVENT_BIT(TENON_RUN_START) | TENON_EVENT_BIT(TENON_LOG) | TENON_EVENT_BIT(TENON_RUN_END)));
  CHECK(priority == 0);
  CHECK(tell(TENON_LOG) == TENON_OK);
  CHECK(logged.name == "log");
  CHECK(logged.value == 0.25);
}

TEST_CASE_FIXTURE(Made<Any>, "an event for a named function alone does not reach on_event") {
  CHECK(tell(TENON_RUN_END) == TENON_OK);
  CHECK(logged.name == "");
  CHECK(verdict.asks == TENON_ASK_LOG);
}

TEST_CASE_FIXTURE(Made<All>, "on_event without events() is told of every event") {
  CHECK(subscribed() == TENON_EVENT_BIT(TENON_EVENT_COUNT) - 1);
}

TEST_CASE_FIXTURE(Made<All>, "what on_event throws becomes a status and a text") {
  CHECK(tell(TENON_LOG) == TENON_FAILED);
  CHECK(host.failure == "told too much");
}

TEST_CASE("every event has the name that the contract gives it") {
  CHECK(std::string(tenon::to_string(static_cast<tenon::Event>(TENON_RUN_SETUP))) == "run_setup");
  CHECK(std::string(tenon::to_string(static_cast<tenon::Event>(TENON_STOP_REQUESTED))) == "stop_requested");
  CHECK(std::string(tenon::to_string(static_cast<tenon::Event>(TENON_RUN_TEARDOWN))) == "run_teardown");
  for (uint32_t event = 0; event < TENON_EVENT_COUNT; ++event) {
    CHECK(std::string(tenon::to_string(static_cast<tenon::Event>(event))) != "an unknown event");
  }
}
