#include <doctest/doctest.h>

#include <tenon/plugin.hpp>

#include "tests/plugin_api/made_component.h"

namespace callback_test {

using namespace tenon::test;

namespace {

class Named final {
 public:
  int32_t priority() const { return -7; }
  void on_step_end(const tenon::Run& run) { seen_ = run.step(); }
  void on_validation_end(const tenon::Run& run, tenon::Requests& requests) {
    if (run.metric("validation/loss") > 1) requests.stop("the loss is " + std::to_string(seen_));
    requests.save();
  }

 private:
  int64_t seen_ = 0;
};

class Any final {
 public:
  std::vector<tenon::Event> events() const { return {tenon::Event::run_start, tenon::Event::log}; }
  void on_event(tenon::Event event, const tenon::Run& run, tenon::Requests&) const {
    run.log_scalar(tenon::to_string(event), run.learning_rate());
  }
  void on_run_end(const tenon::Run&, tenon::Requests& requests) const { requests.log(); }
};

// Keeps its best value.
class Best final {
 public:
  void on_validation_end(const tenon::Run& run) { best_ = run.metric("validation/loss"); }
  std::string save_state() const { return std::to_string(best_); }
  void load_state(std::string_view bytes) {
    if (bytes.empty()) throw tenon::Error(TENON_INVALID_ARGUMENT, "the state is empty");
    best_ = std::stod(std::string(bytes));
  }

 private:
  double best_ = -1;
};

class Looking final {
 public:
  void on_run_exception(const tenon::Run& run) {
    run.log_scalar(run.folder() + "|" + run.validation() + "|" + run.error(), run.step_loss());
    run.log_scalar("batches", static_cast<double>(run.validation_batches() * 100 + run.validation_batch()));
  }
};

class All final {
 public:
  void on_event(tenon::Event, const tenon::Run&, tenon::Requests&) const {
    throw std::runtime_error("one event too many");
  }
};

struct Logged {
  std::string name;
  double value = 0;
};

tenon_run make_run(void* context) {
  tenon_run run = {};
  run.size = sizeof run;
  run.context = context;
  run.epoch = 1;
  run.step = 23;
  run.learning_rate = 0.25;
  return run;
}

template <class T>
struct Made : MadeComponent<tenon_callback> {
  Made() : MadeComponent(tenon::callback<T>("id", "doc")) {
    run.metric = [](const tenon_run*, tenon_string name, double* value) -> tenon_status {
      *value = 2;
      return to_text(name) == "validation/loss" ? TENON_OK : TENON_NOT_FOUND;
    };
    run.log_scalar = [](const tenon_run* self, tenon_string name, double value) -> tenon_status {
      *static_cast<Logged*>(self->context) = {to_text(name), value};
      return TENON_OK;
    };
  }

  tenon_status dispatch(uint32_t event) {
    requests = {sizeof requests, 0, 0, {nullptr, 0}};
    return table.on_event(self, event, &run, &requests);
  }

  uint64_t subscribed() {
    uint64_t events = 0;
    REQUIRE(table.subscribe(self, &events, &priority) == TENON_OK);
    return events;
  }

  Logged logged;
  tenon_run run = make_run(&logged);
  tenon_requests requests = {};
  int32_t priority = 99;
};

}  // namespace

TEST_CASE_FIXTURE(Made<Named>, "a callback is subscribed to the events that it has functions for") {
  CHECK(subscribed() == (TENON_EVENT_BIT(TENON_STEP_END) | TENON_EVENT_BIT(TENON_VALIDATION_END)));
  CHECK(priority == -7);
}

TEST_CASE_FIXTURE(Made<Named>, "a callback's requests and reason reach the host") {
  CHECK(dispatch(TENON_STEP_END) == TENON_OK);
  CHECK(requests.flags == 0);
  CHECK(dispatch(TENON_VALIDATION_END) == TENON_OK);
  CHECK(requests.flags == (TENON_REQUEST_STOP | TENON_REQUEST_SAVE));
  CHECK(to_text(requests.reason) == "the loss is 23");
}

TEST_CASE_FIXTURE(Made<Any>, "events() selects the events of on_event, in addition to the named functions") {
  CHECK(subscribed() ==
        (TENON_EVENT_BIT(TENON_RUN_START) | TENON_EVENT_BIT(TENON_LOG) | TENON_EVENT_BIT(TENON_RUN_END)));
  CHECK(priority == 0);
  CHECK(dispatch(TENON_LOG) == TENON_OK);
  CHECK(logged.name == "log");
  CHECK(logged.value == 0.25);
}

TEST_CASE_FIXTURE(Made<Any>, "an event for a named function alone does not reach on_event") {
  CHECK(dispatch(TENON_RUN_END) == TENON_OK);
  CHECK(logged.name == "");
  CHECK(requests.flags == TENON_REQUEST_LOG);
}

TEST_CASE_FIXTURE(Made<All>, "on_event without events() receives every event") {
  CHECK(subscribed() == TENON_EVENT_BIT(TENON_EVENT_COUNT) - 1);
}

TEST_CASE_FIXTURE(Made<All>, "an exception of on_event becomes a status and a message") {
  CHECK(dispatch(TENON_LOG) == TENON_FAILED);
  CHECK(host.failure == "one event too many");
}

TEST_CASE_FIXTURE(Made<Best>, "a callback's state is saved, and loaded by another instance") {
  const auto& saved = extension<tenon_saved_state>(TENON_SAVED_STATE);
  CHECK(saved.size == sizeof saved);
  CHECK(dispatch(TENON_VALIDATION_END) == TENON_OK);
  tenon_string bytes = {};
  REQUIRE(saved.save(self, &bytes) == TENON_OK);
  CHECK(to_text(bytes) == std::to_string(2.0));

  void* other = nullptr;
  REQUIRE(table.create(host.table(), &params, &other) == TENON_OK);
  REQUIRE(saved.load(other, bytes) == TENON_OK);
  tenon_string again = {};
  REQUIRE(saved.save(other, &again) == TENON_OK);
  CHECK(to_text(again) == to_text(bytes));
  CHECK(saved.load(other, to_string("")) == TENON_INVALID_ARGUMENT);
  CHECK(host.failure == "the state is empty");
  table.destroy(other);
}

TEST_CASE_FIXTURE(Made<Best>, "a component returns null for extensions that it does not have") {
  CHECK(component.get_extension(to_string("tenon.saved-state/2")) == nullptr);
  CHECK(tenon::callback<Named>("id", "doc").get_extension(to_string(TENON_SAVED_STATE)) == nullptr);
}

TEST_CASE_FIXTURE(Made<Looking>, "a callback receives the run folder, the validation set and the error message") {
  run.folder = to_string("/runs/1");
  run.validation = to_string("validation/night");
  run.validation_batch = 3;
  run.validation_batches = 8;
  run.error = to_string("disk full");
  run.step_loss = [](const tenon_run*, uint32_t wait, double* loss, int64_t* step) -> tenon_status {
    *loss = wait ? 0.5 : -1;
    *step = 23;
    return TENON_OK;
  };
  static std::vector<Logged> all;
  all.clear();
  run.log_scalar = [](const tenon_run*, tenon_string name, double value) -> tenon_status {
    all.push_back({to_text(name), value});
    return TENON_OK;
  };
  CHECK(dispatch(TENON_RUN_EXCEPTION) == TENON_OK);
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "/runs/1|validation/night|disk full");
  CHECK(all[0].value == 0.5);
  CHECK(all[1].value == 803);
}

TEST_CASE("every event has the name in the ABI") {
  CHECK(std::string(tenon::to_string(static_cast<tenon::Event>(TENON_RUN_SETUP))) == "run_setup");
  CHECK(std::string(tenon::to_string(static_cast<tenon::Event>(TENON_STOP_REQUESTED))) == "stop_requested");
  CHECK(std::string(tenon::to_string(static_cast<tenon::Event>(TENON_RUN_TEARDOWN))) == "run_teardown");
  for (uint32_t event = 0; event < TENON_EVENT_COUNT; ++event) {
    CHECK(std::string(tenon::to_string(static_cast<tenon::Event>(event))) != "an unknown event");
  }
}

}  // namespace callback_test
