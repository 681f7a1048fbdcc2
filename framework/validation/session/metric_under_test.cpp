#include "framework/validation/session/metric_under_test.h"

#include <torch/types.h>

#include <cmath>
#include <set>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "framework/validation/session/check.h"
#include "framework/validation/session/model_under_test.h"

namespace tenon::validation {

namespace {

components::StepContext context_of(const Session& session) {
  components::StepContext context;
  context.epoch = 1;
  context.seed = session.seed;
  return context;
}

MetricState make_state(const tenon_state* state, const std::string& what) {
  if (!state) throw Failed(what + " is null");
  if (state->size < TENON_SIZE_TO(tenon_state, initial) || state->size > 1 << 16)
    throw Failed(what + " declares a size of " + std::to_string(state->size) + " bytes; expected sizeof(tenon_state)");
  if (state->reduction < TENON_REDUCE_SUM || state->reduction > TENON_REDUCE_CONCATENATE)
    throw Failed(what + " has the reduction " + std::to_string(state->reduction) + ", which does not exist");
  if (components::dtype_bytes(state->dtype) == 0)
    throw Failed(what + " has the dtype " + std::to_string(state->dtype) + ", which does not exist");
  if (state->ndim > 64 || (state->ndim > 0 && !state->shape))
    throw Failed(what + " has ndim " + std::to_string(state->ndim) + " and no valid shape");
  const at::IntArrayRef shape(state->shape, state->ndim);
  for (const int64_t extent : shape)
    if (extent < 0) throw Failed(what + " has a negative extent");
  const bool concatenates = state->reduction == TENON_REDUCE_CONCATENATE;
  if (concatenates && (shape.empty() || shape[0] != 0))
    throw Failed(what + " is concatenated, but its shape does not begin with 0 for the number of rows");
  MetricState made{components::to_string(state->name),
                   at::empty(shape, components::to_scalar_type(state->dtype)),
                   state->reduction,
                   {}};
  made.tensor.fill_(state->initial);
  if (concatenates) made.rows.like = made.tensor;
  return made;
}

}  // namespace

MetricUnderTest::MetricUnderTest(Session& session) : subject_(session), ports_(read_ports(subject_)) {
  if (ports_.inputs.empty()) throw Failed("ports returns no input; expected one or more");
  new_states();
  values_ = read_values();
}

MetricStates MetricUnderTest::new_states() {
  const tenon_state* const* states = nullptr;
  uint64_t count = 0;
  subject_.call("states", [&] { return subject_.table().states(subject_.self(), &states, &count); });
  constexpr uint64_t kMaxCount = 10000;
  if (count > kMaxCount || (count > 0 && !states))
    throw Failed("states returns " + std::to_string(count) + (states ? "" : " and a null list"));
  MetricStates made;
  for (uint64_t i = 0; i < count; ++i) made.push_back(make_state(states[i], "state " + std::to_string(i)));
  return made;
}

std::vector<std::string> MetricUnderTest::read_values() {
  const tenon_metric_value* const* values = nullptr;
  uint64_t count = 0;
  subject_.call("values", [&] { return subject_.table().values(subject_.self(), &values, &count); });
  constexpr uint64_t kMaxCount = 10000;
  if (count == 0 || count > kMaxCount || !values)
    throw Failed("values returns " + std::to_string(count) + (values ? "" : " and a null list") +
                 "; expected one or more");
  std::vector<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string what = "metric value " + std::to_string(i);
    if (!values[i] || values[i]->size < TENON_SIZE_TO(tenon_metric_value, doc) || values[i]->size > 1 << 16)
      throw Failed(what + " is null, or its size is not that of tenon_metric_value");
    if (values[i]->name.size == 0 || !values[i]->name.data) throw Failed(what + " has no name");
    if (values[i]->direction < -1 || values[i]->direction > 1)
      throw Failed(what + " has the direction " + std::to_string(values[i]->direction) + "; expected 1, -1 or 0");
    names.push_back(components::to_string(values[i]->name));
  }
  return names;
}

void MetricUnderTest::find_recipe() {
  std::string answer;
  std::optional<InputRecipe> taken;
  const auto is_accepted = [&](const InputRecipe& recipe) {
    recipe_ = recipe;
    MetricStates states = new_states();
    update(states, inputs(2, 0));
    if (!taken) taken = recipe;
    compute(states);  // a metric may check its inputs here, so that update need not synchronise with the device
    return true;
  };
  if (try_recipes(ports_.inputs, is_accepted, answer)) return;
  recipe_ = taken;
  if (!taken)
    throw Failed("update accepts none of the inputs that were tried; its last error: " + answer +
                 ". If it requires inputs of a certain size, declare that size in its ports");
}

std::vector<at::Tensor> MetricUnderTest::inputs(int64_t batch, uint64_t number) const {
  return make_inputs(ports_.inputs, *recipe_, batch, subject_.session().seed + number, TENON_DTYPE_NONE);
}

void MetricUnderTest::update(MetricStates& states, const std::vector<at::Tensor>& inputs) {
  const at::NoGradGuard no_grad;
  std::vector<tenon_tensor*> tensors;
  std::vector<components::AppendedRows*> rows;
  for (MetricState& state : states) {
    tensors.push_back(components::to_handle(state.tensor));
    rows.push_back(state.reduction == TENON_REDUCE_CONCATENATE ? &state.rows : nullptr);
  }
  const components::Frame frame(context_of(subject_.session()), tensors, rows);
  const std::vector<tenon_tensor*> handles = components::to_handles(inputs);
  subject_.call("update",
                [&] { return subject_.table().update(subject_.self(), frame.get(), handles.data(), handles.size()); });
}

std::vector<double> MetricUnderTest::compute(const MetricStates& states) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> tensors;
  for (const MetricState& state : states)
    tensors.push_back(state.rows.parts.empty() ? state.tensor : at::cat(state.rows.parts));
  const std::vector<tenon_tensor*> handles = components::to_handles(tensors);
  const components::Frame frame(context_of(subject_.session()), handles);
  std::vector<double> values(values_.size(), std::nan(""));
  subject_.call("compute",
                [&] { return subject_.table().compute(subject_.self(), frame.get(), values.data(), values.size()); });
  return values;
}

MetricStates reduce(const MetricStates& left, const MetricStates& right) {
  MetricStates reduced = left;
  for (size_t i = 0; i < left.size(); ++i) {
    switch (left[i].reduction) {
      case TENON_REDUCE_SUM: reduced[i].tensor = left[i].tensor + right[i].tensor; break;
      case TENON_REDUCE_MAX: reduced[i].tensor = at::maximum(left[i].tensor, right[i].tensor); break;
      case TENON_REDUCE_MIN: reduced[i].tensor = at::minimum(left[i].tensor, right[i].tensor); break;
      default:
        for (const at::Tensor& rows : right[i].rows.parts) reduced[i].rows.parts.push_back(rows);
        break;
    }
  }
  return reduced;
}

}  // namespace tenon::validation
