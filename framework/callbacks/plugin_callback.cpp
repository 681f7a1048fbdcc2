#include "framework/callbacks/plugin_callback.h"

#include <limits>
#include <string>
#include <vector>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/run_view.h"
#include "framework/formats/nearest_name.h"

namespace tenon::callbacks {

namespace {

// The object that tenon_run.context points to.
struct Context {
  const pipeline::RunState& state;
  pipeline::CallbackRequests& requests;
};

tenon_status fail_unknown(const pipeline::RunState& state, tenon_string name) {
  std::vector<std::string> known;
  for (const auto& [known_name, known_value] : state.metrics) known.push_back(known_name);
  for (const auto& [known_name, direction] : state.directions)
    if (!state.metrics.contains(known_name)) known.push_back(known_name);
  const std::string text = "there is no metric \"" + components::to_string(name) + "\"" +
                           formats::suggest_name(components::to_string(name), known);
  return components::fail(TENON_NOT_FOUND, text);
}

tenon_status metric(const tenon_run* run, tenon_string name, double* value) {
  const pipeline::RunState& state = static_cast<Context*>(run->context)->state;
  const auto found = state.metrics.find(components::to_string(name));
  if (found == state.metrics.end() && !state.directions.contains(components::to_string(name)))
    return fail_unknown(state, name);
  *value = found != state.metrics.end() ? found->second : std::numeric_limits<double>::quiet_NaN();
  return TENON_OK;
}

tenon_status direction(const tenon_run* run, tenon_string name, int32_t* direction) {
  const pipeline::RunState& state = static_cast<Context*>(run->context)->state;
  const auto found = state.directions.find(components::to_string(name));
  if (found == state.directions.end() && !state.metrics.contains(components::to_string(name)))
    return fail_unknown(state, name);
  *direction = found != state.directions.end() ? found->second : 0;
  return TENON_OK;
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
  const pipeline::RunState& state = static_cast<Context*>(run->context)->state;
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

}  // namespace

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

}  // namespace tenon::callbacks
