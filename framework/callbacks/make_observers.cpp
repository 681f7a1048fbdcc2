#include "framework/callbacks/make_observers.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "framework/components/calls/host_table.h"
#include "framework/config/file/format_run_plan.h"
#include "framework/config/plan/compare_plans.h"
#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::callbacks {

using config::Period;
using pipeline::Event;
using pipeline::RunState;

namespace {

// Adapts a plugin's callback to an observer of the run.
class PluginCallback final : public pipeline::Observer {
 public:
  // All must outlive this object. `tensors`: the trainable tensors, for callbacks that read them; null: none.
  // `description`: for callbacks that log the run elsewhere; null: none.
  explicit PluginCallback(const components::Callback& callback, const components::TrainedTensors* tensors = nullptr,
                          const components::RunDescription* description = nullptr)
      : callback_(callback), tensors_(tensors), description_(description) {}

  bool subscribes(pipeline::Event event) const override { return callback_.subscribes(static_cast<uint32_t>(event)); }
  std::string name() const override { return "callback " + callback_.component().schema.id; }
  int32_t priority() const override { return callback_.priority(); }
  // Throws Error(plugin) if the plugin fails.
  void on_event(pipeline::Event event, const pipeline::RunState& state, pipeline::CallbackRequests& requests) override;
  std::string save_state() const override { return callback_.save_state(); }
  void load_state(const std::string& bytes) override { callback_.load_state(bytes); }

 private:
  const components::Callback& callback_;
  const components::TrainedTensors* tensors_;
  const components::RunDescription* description_;
};

// The object that tenon_run.context points to.
struct Context {
  const pipeline::RunState& state;
  pipeline::CallbackRequests& requests;
};

tenon_status fail_unknown(const pipeline::RunState& state, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [metric, value] : state.metrics) known.push_back(metric);
  for (const auto& [metric, direction] : state.directions)
    if (!state.metrics.contains(metric)) known.push_back(metric);
  return components::fail(TENON_NOT_FOUND,
                          fmt::format("there is no metric \"{}\"{}", name, formats::suggest_name(name, known)));
}

const pipeline::RunState& state_of(const tenon_run* run) { return static_cast<Context*>(run->context)->state; }

// Finds what `values` has of a metric, or else `otherwise`. Fails if the run has no such metric.
template <class Value>
tenon_status find_of_metric(const pipeline::RunState& state, const std::map<std::string, Value>& values,
                            const std::string& name, Value otherwise, Value* value) {
  if (!state.metrics.contains(name) && !state.directions.contains(name)) return fail_unknown(state, name);
  const auto found = values.find(name);
  *value = found != values.end() ? found->second : otherwise;
  return TENON_OK;
}

tenon_status metric(const tenon_run* run, tenon_string name, double* value) {
  const pipeline::RunState& state = state_of(run);
  return find_of_metric(state, state.metrics, components::to_string(name), std::numeric_limits<double>::quiet_NaN(),
                        value);
}

tenon_status direction(const tenon_run* run, tenon_string name, int32_t* direction) {
  const pipeline::RunState& state = state_of(run);
  return find_of_metric(state, state.directions, components::to_string(name), 0, direction);
}

tenon_status log_scalar(const tenon_run* run, tenon_string name, double value) {
  const std::string text = components::to_string(name);
  const bool is_key = text.empty() || text == "event" || text == "epoch" || text == "step" || text == "time_s";
  if (is_key || text.starts_with("train/") || text.starts_with("validation/"))
    return components::fail(TENON_INVALID_ARGUMENT,
                            "log_scalar: the name \"" + text +
                                "\" is reserved in the history; expected another name, such as \"my_callback/norm\"");
  static_cast<Context*>(run->context)->requests.scalars[text] = value;
  return TENON_OK;
}

// Returns the last loss that has arrived on the host. Ignores `wait`.
tenon_status step_loss(const tenon_run* run, uint32_t, double* loss, int64_t* step) {
  const pipeline::RunState& state = state_of(run);
  *loss = state.step_loss;
  *step = state.step;
  return TENON_OK;
}

// The values that the event adds to the history so far. Their names stay valid while the callback logs further scalars,
// because a map never moves its keys.
std::vector<tenon_run_value> list_values(const pipeline::RunState& state, const pipeline::CallbackRequests& requests) {
  std::vector<tenon_run_value> values;
  if (!state.event_values) return values;
  for (const auto& [name, value] : *state.event_values) values.push_back({components::to_tenon(name), value});
  for (const auto& [name, value] : requests.scalars) values.push_back({components::to_tenon(name), value});
  return values;
}

bool is_of_the_run(Event event) {
  switch (event) {
    case Event::run_setup:
    case Event::run_start:
    case Event::checkpoint_loaded:
    case Event::stop_requested:
    case Event::run_end:
    case Event::run_exception:
    case Event::run_teardown: return true;
    default: return false;
  }
}

bool is_within_step(Event event) { return event >= Event::batch_fetched && event <= Event::optimizer_after; }

bool is_multiple(int64_t number, double count) {
  return number > 0 && std::fmod(static_cast<double>(number), count) == 0;
}

}  // namespace

std::vector<std::unique_ptr<pipeline::Observer>> make_observers(const std::vector<components::Callback>& callbacks,
                                                                const std::vector<config::CallbackPlan>& plans,
                                                                const components::TrainedTensors* tensors,
                                                                const components::RunDescription* description) {
  TENON_CHECK(callbacks.size() == plans.size(), callbacks.size() << " callbacks, " << plans.size() << " plans");
  std::vector<std::unique_ptr<pipeline::Observer>> observers;
  for (size_t i = 0; i < callbacks.size(); ++i)
    observers.push_back(std::make_unique<Filtered>(std::make_unique<PluginCallback>(callbacks[i], tensors, description),
                                                   plans[i].filter));
  return observers;
}

std::unique_ptr<components::RunDescription> describe_run(const config::RunPlan& plan, const std::string& resumed_from,
                                                         bool is_temporary) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const auto& [key, node] : config::flatten_plan(config::format_run_plan(plan), "plan.toml")) {
    const std::string* const text = node.as_string();
    settings.emplace_back(key, text ? *text : config::describe(node));
  }
  return std::make_unique<components::RunDescription>(plan.run.name, resumed_from, is_temporary, std::move(settings));
}

void PluginCallback::on_event(pipeline::Event event, const pipeline::RunState& state,
                              pipeline::CallbackRequests& requests) {
  Context context{state, requests};
  components::RunView view;
  view.total_epochs = state.total_epochs;
  view.step_in_epoch = state.step_in_epoch;
  view.direction = direction;
  view.samples_in_epoch = state.samples_in_epoch;
  view.tensors = tensors_;
  const std::vector<tenon_run_value> values = list_values(state, requests);
  view.values = values.data();
  view.value_count = values.size();
  view.stop_signal = state.stop_signal;
  view.description = description_;
  tenon_run& run = view.base;
  run.size = sizeof run;
  run.context = &context;
  run.epoch = state.epoch;
  run.step = state.step;
  run.total_steps = state.total_steps;
  run.steps_per_epoch = state.steps_per_epoch;
  run.time_s = state.time_s;
  run.learning_rate = state.learning_rate;
  run.rank = state.rank;
  run.world_size = state.world_size;
  run.folder = components::to_tenon(state.folder);
  run.validation = components::to_tenon(state.validation_name);
  run.validation_batch = state.validation_batch;
  run.validation_batches = state.validation_batches;
  run.error = components::to_tenon(state.error);
  run.metric = metric;
  run.log_scalar = log_scalar;
  run.step_loss = step_loss;

  const tenon_requests given = callback_.on_event(static_cast<uint32_t>(event), run);
  if ((given.flags & TENON_REQUEST_STOP) != 0 && !requests.stop) {
    requests.stop = true;
    requests.reason = callback_.component().schema.id;
    if (given.reason.size > 0) requests.reason += ": " + components::to_string(given.reason);
  }
  requests.save = requests.save || (given.flags & TENON_REQUEST_SAVE) != 0;
  requests.evaluate = requests.evaluate || (given.flags & TENON_REQUEST_EVALUATE) != 0;
  requests.log = requests.log || (given.flags & TENON_REQUEST_LOG) != 0;
}

void Filtered::on_event(Event event, const RunState& state, pipeline::CallbackRequests& requests) {
  if (is_of_the_run(event) || passes(event, state)) observer_->on_event(event, state, requests);
}

bool Filtered::passes(Event event, const RunState& state) {
  const EventTime event_time{state.epoch, is_within_step(event) ? state.step + 1 : state.step};
  if (event_time != memory_.decided_for) {
    memory_.decided_for = event_time;
    memory_.decision = !(filter_.once && memory_.has_passed) && is_due(event_time, state);
    memory_.has_passed = memory_.has_passed || memory_.decision;
  }
  return memory_.decision;
}

// The filter's state, followed by the observer's.
std::string Filtered::save_state() const {
  return std::string(reinterpret_cast<const char*>(&memory_), sizeof memory_) + observer_->save_state();
}

void Filtered::load_state(const std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<Memory> && sizeof(Memory) == 40, "has no padding");
  if (bytes.size() < sizeof memory_)
    throw support::Error(support::ErrorKind::checkpoint, "the state of a callback has {} bytes; expected at least {}",
                         bytes.size(), sizeof memory_);
  std::memcpy(&memory_, bytes.data(), sizeof memory_);
  observer_->load_state(bytes.substr(sizeof memory_));
}

bool Filtered::is_due(const EventTime& event_time, const RunState& state) {
  switch (filter_.after.unit) {
    case Period::Unit::never: break;
    case Period::Unit::epochs:
      if (static_cast<double>(event_time.epoch) <= filter_.after.count) return false;
      break;
    case Period::Unit::steps:
      if (static_cast<double>(event_time.step) <= filter_.after.count) return false;
      break;
    case Period::Unit::seconds:
      if (state.time_s < filter_.after.count) return false;
      break;
  }
  switch (filter_.every.unit) {
    case Period::Unit::never: return true;
    case Period::Unit::epochs: return is_multiple(event_time.epoch, filter_.every.count);
    case Period::Unit::steps: return is_multiple(event_time.step, filter_.every.count);
    case Period::Unit::seconds:
      if (state.time_s - memory_.counted_from_s < filter_.every.count) return false;
      memory_.counted_from_s = state.time_s;
      return true;
  }
  return true;
}

}  // namespace tenon::callbacks
