#include "framework/callbacks/make_observers.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace tenon::callbacks {
namespace {

using config::Period;
using pipeline::Event;

constexpr Period kNever{};
constexpr Period steps(double count) { return {Period::Unit::steps, count}; }
constexpr Period epochs(double count) { return {Period::Unit::epochs, count}; }
constexpr Period seconds(double count) { return {Period::Unit::seconds, count}; }

class Recorder final : public pipeline::Observer {
 public:
  explicit Recorder(std::vector<std::string>& received) : received_(received) {}
  bool subscribes(Event event) const override { return event != Event::log; }
  int32_t priority() const override { return 7; }
  void on_event(Event event, const pipeline::RunState& state, pipeline::CallbackRequests&) override {
    std::string name;
    if (event == Event::run_setup) name = "setup";
    if (event == Event::grads_ready) name = "grads";
    if (event == Event::optimizer_after) name = "after";
    if (event == Event::step_end) name = "end";
    if (event == Event::validation_end) name = "valid";
    if (event == Event::epoch_end) name = "epoch";
    if (event == Event::run_end) name = "over";
    received_.push_back(name + std::to_string(state.step));
  }

 private:
  std::vector<std::string>& received_;
};

// The events that pass the filter in a run with epochs of two steps, one second per step. A validation ends each epoch.
std::vector<std::string> run_through(const config::EventFilter& filter, int64_t epochs_done) {
  std::vector<std::string> received;
  Filtered filtered(std::make_unique<Recorder>(received), filter);
  pipeline::RunState state;
  pipeline::CallbackRequests requests;
  const auto dispatch = [&](Event event) { filtered.on_event(event, state, requests); };
  dispatch(Event::run_setup);
  for (state.epoch = 1; state.epoch <= epochs_done; ++state.epoch) {
    for (int step = 0; step < 2; ++step) {
      dispatch(Event::grads_ready);
      state.time_s += 1;
      dispatch(Event::optimizer_after);
      ++state.step;
      dispatch(Event::step_end);
    }
    dispatch(Event::validation_end);
    dispatch(Event::epoch_end);
  }
  dispatch(Event::run_end);
  return received;
}

using Received = std::vector<std::string>;

}  // namespace

TEST_CASE("without a filter all events pass") {
  CHECK(run_through({}, 1) ==
        Received{"setup0", "grads0", "after0", "end1", "grads1", "after1", "end2", "valid2", "epoch2", "over2"});
}

TEST_CASE("every N steps, whole steps pass with the events that follow them") {
  CHECK(run_through({.every = steps(3)}, 3) ==
        Received{"setup0", "grads2", "after2", "end3", "grads5", "after5", "end6", "valid6", "epoch6", "over6"});
}

TEST_CASE("every N epochs, whole epochs pass") {
  CHECK(run_through({.every = epochs(2)}, 3) ==
        Received{"setup0", "grads2", "after2", "end3", "grads3", "after3", "end4", "valid4", "epoch4", "over6"});
}

TEST_CASE("after N steps, epochs or seconds, later events pass") {
  CHECK(run_through({.after = steps(3)}, 2) ==
        Received{"setup0", "grads3", "after3", "end4", "valid4", "epoch4", "over4"});
  CHECK(run_through({.after = epochs(1)}, 2) ==
        Received{"setup0", "grads2", "after2", "end3", "grads3", "after3", "end4", "valid4", "epoch4", "over4"});
  // The third second ends within step 3. A step never starts to pass in its middle.
  CHECK(run_through({.after = seconds(3)}, 2) ==
        Received{"setup0", "grads3", "after3", "end4", "valid4", "epoch4", "over4"});
}

TEST_CASE("every N seconds, the next whole step passes") {
  CHECK(run_through({.every = seconds(2)}, 3) ==
        Received{"setup0", "grads2", "after2", "end3", "grads4", "after4", "end5", "over6"});
}

TEST_CASE("once passes the first whole step that matches the other conditions") {
  CHECK(run_through({.once = true}, 2) == Received{"setup0", "grads0", "after0", "end1", "over4"});
  CHECK(run_through({.every = steps(2), .after = steps(2), .once = true}, 4) ==
        Received{"setup0", "grads3", "after3", "end4", "valid4", "epoch4", "over8"});
}

TEST_CASE("a filter's priority replaces the callback's priority, and its subscriptions stay") {
  std::vector<std::string> received;
  CHECK(Filtered(std::make_unique<Recorder>(received), {}).priority() == 7);
  CHECK(Filtered(std::make_unique<Recorder>(received), {.every = kNever, .priority = -3}).priority() == -3);
  CHECK_FALSE(Filtered(std::make_unique<Recorder>(received), {}).subscribes(Event::log));
  CHECK(Filtered(std::make_unique<Recorder>(received), {.every = steps(5)}).subscribes(Event::step_end));
}

}  // namespace tenon::callbacks
