#include "framework/validation/session/fake_run.h"

#include <cmath>

#include "framework/components/calls/host_table.h"
#include "framework/components/kinds/callback.h"
#include "framework/support/compute/philox.h"
#include "framework/validation/session/check.h"

namespace tenon::validation {

namespace {

constexpr int64_t kEpochs = 2;
constexpr int64_t kSteps = 2;    // per epoch
constexpr int64_t kSamples = 8;  // per step

bool has_metric(const std::string& name) { return name.starts_with("train/") || name.starts_with("validation/"); }

tenon_status fail_without(const std::string& metric) {
  return components::fail(TENON_NOT_FOUND, "there is no metric \"" + metric + "\" in this fake run");
}

// Lower is better for losses, higher is better for all other metrics.
tenon_status read_direction(const tenon_run*, tenon_string name, int32_t* direction) {
  const std::string text = components::to_string(name);
  if (!has_metric(text)) return fail_without(text);
  *direction = text.ends_with("loss") ? -1 : 1;
  return TENON_OK;
}

// Every metric of the host has a value. It depends on the seed, the metric's name and the step.
tenon_status read_metric(const tenon_run* run, tenon_string name, double* value) {
  const std::string text = components::to_string(name);
  if (!has_metric(text)) return fail_without(text);
  const uint64_t seed = static_cast<const Session*>(run->context)->seed + text.size();
  const uint64_t bits = support::derive_seed(seed, support::StreamPurpose::sample, 2, static_cast<uint64_t>(run->step));
  *value = run->step == 0 ? std::nan("") : static_cast<double>(bits % 1000) / 1000;
  return TENON_OK;
}

tenon_status ignore_scalar(const tenon_run*, tenon_string name, double) {
  const std::string text = components::to_string(name);
  if (text.empty() || text.starts_with("train/") || text.starts_with("validation/"))
    return components::fail(TENON_INVALID_ARGUMENT, "log_scalar: the name \"" + text + "\" is reserved for the host");
  return TENON_OK;
}

tenon_status read_step_loss(const tenon_run* run, uint32_t, double* loss, int64_t* step) {
  *step = run->step;
  *loss = run->step == 0 ? std::nan("") : 1 / static_cast<double>(run->step);
  return TENON_OK;
}

// The values that the event adds to the history.
std::vector<tenon_run_value> list_values(uint32_t event, int64_t step) {
  const double value = 1 / static_cast<double>(step + 1);
  switch (event) {
    case TENON_LOG:
    case TENON_EPOCH_END: return {{TENON_STRING("train/loss"), value}};
    case TENON_VALIDATION_END:
      return {{TENON_STRING("validation/loss"), value}, {TENON_STRING("validation/accuracy"), std::nan("")}};
    case TENON_RUN_END: return {{TENON_STRING("test/loss"), value}};
    default: return {};
  }
}

void require_sound(const tenon_requests& status, const std::string& event) {
  constexpr uint32_t kKnown = TENON_REQUEST_STOP | TENON_REQUEST_SAVE | TENON_REQUEST_EVALUATE | TENON_REQUEST_LOG;
  if ((status.flags & ~kKnown) != 0)
    throw Failed("on_event at " + event + " requests " + std::to_string(status.flags) +
                 ", which contains unknown bits");
  constexpr uint64_t kMaxLength = 1 << 16;
  if (status.reason.size > kMaxLength || (status.reason.size > 0 && !status.reason.data))
    throw Failed("on_event at " + event + " returns a reason of " + std::to_string(status.reason.size) +
                 " bytes; expected at most 65536 and a non-null pointer");
}

}  // namespace

CallbackUnderTest::CallbackUnderTest(Session& session) : subject_(session), tensors_(FakeTensors::make(session.seed)) {
  read_subscription();
  run_.size = sizeof run_;
  run_.context = &session;
  run_.total_steps = kEpochs * kSteps;
  run_.steps_per_epoch = kSteps;
  run_.learning_rate = 0.001;
  run_.world_size = 1;
  run_.metric = read_metric;
  run_.log_scalar = ignore_scalar;
  run_.step_loss = read_step_loss;
  view_.total_epochs = kEpochs;
  view_.tensors = tensors_.get();
  view_.direction = read_direction;
  view_.description = &description_;
}

void CallbackUnderTest::read_subscription() {
  subject_.call("subscribe", [&] { return subject_.table().subscribe(subject_.self(), &events_, &priority_); });
  constexpr uint64_t kKnown = TENON_EVENT_BIT(TENON_EVENT_COUNT) - 1;
  if ((events_ & ~kKnown) != 0) throw Failed("subscribe requests events that do not exist");
}

void CallbackUnderTest::dispatch(uint32_t event) {
  if ((events_ & TENON_EVENT_BIT(event)) == 0) return;
  const std::string name = components::event_name(event);
  const std::vector<tenon_run_value> values = list_values(event, run_.step);
  view_.values = values.data();
  view_.value_count = values.size();
  tenon_requests status{};
  status.size = sizeof status;
  subject_.call(
      "on_event", [&] { return subject_.table().on_event(subject_.self(), event, &run_, &status); },
      name + ", step " + std::to_string(run_.step));
  require_sound(status, name);
}

void CallbackUnderTest::dispatch_validation() {
  run_.validation = TENON_STRING("validation");
  run_.validation_batches = 2;
  dispatch(TENON_VALIDATION_START);
  for (run_.validation_batch = 1; run_.validation_batch <= run_.validation_batches; ++run_.validation_batch)
    dispatch(TENON_VALIDATION_BATCH_END);
  run_.validation_batch = run_.validation_batches;
  dispatch(TENON_VALIDATION_END);
  run_.validation = {nullptr, 0};
  run_.validation_batch = run_.validation_batches = 0;
}

void CallbackUnderTest::dispatch_checkpoint() {
  dispatch(TENON_CHECKPOINT_BEFORE);
  dispatch(TENON_CHECKPOINT_AFTER);
}

void CallbackUnderTest::dispatch_step() {
  for (const uint32_t event : {TENON_BATCH_FETCHED, TENON_STEP_START, TENON_FORWARD_END, TENON_LOSS_END})
    dispatch(event);
  tensors_->have_gradients(true);
  for (const uint32_t event : {TENON_BACKWARD_END, TENON_GRADS_READY, TENON_OPTIMIZER_BEFORE}) dispatch(event);
  tensors_->have_gradients(false);
  ++run_.step;
  ++view_.step_in_epoch;
  view_.samples_in_epoch += kSamples;
  run_.time_s += 0.5;
  for (const uint32_t event : {TENON_OPTIMIZER_AFTER, TENON_STEP_END, TENON_LOG}) dispatch(event);
}

void CallbackUnderTest::dispatch_run() {
  run_.epoch = run_.step = 0;
  for (const uint32_t event : {TENON_RUN_SETUP, TENON_RUN_START, TENON_CHECKPOINT_LOADED}) dispatch(event);
  for (run_.epoch = 1; run_.epoch <= kEpochs; ++run_.epoch) {
    view_.step_in_epoch = view_.samples_in_epoch = 0;
    dispatch(TENON_EPOCH_START);
    for (int64_t step = 0; step < kSteps; ++step) dispatch_step();
    dispatch_validation();
    dispatch_checkpoint();
    if (run_.epoch == kEpochs) dispatch(TENON_STOP_REQUESTED);
    dispatch(TENON_EPOCH_END);
  }
  run_.epoch = kEpochs;
  dispatch(TENON_RUN_END);
  dispatch(TENON_RUN_TEARDOWN);
}

}  // namespace tenon::validation
