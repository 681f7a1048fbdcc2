#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>

#include <cmath>

#include <tenon/callback.h>
#include <tenon/saved_state.h>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/run_view.h"
#include "framework/components/kinds/callback.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/compute/philox.h"
#include "framework/support/diagnostics/error.h"
#include "framework/validation/checks/checks.h"

namespace tenon::validation {

namespace {

using components::Callback;

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
  const uint64_t seed = static_cast<const Session*>(run->context)->seed() + text.size();
  const uint64_t bits = support::derive_seed(seed, support::StreamPurpose::sample, 2, static_cast<uint64_t>(run->step));
  *value = run->step == 0 ? std::nan("") : static_cast<double>(bits % 1000) / 1000;
  return TENON_OK;
}

tenon_status ignore_scalar(const tenon_run*, tenon_string name, double) {
  const std::string text = components::to_string(name);
  if (text.empty() || has_metric(text))
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

// A weight and a bias. They have gradients only while a step has them.
class FakeTensors final : public components::TrainedTensors {
 public:
  explicit FakeTensors(uint64_t seed) {
    at::Generator generator = at::detail::createCPUGenerator(seed);
    for (const auto& shape : std::vector<std::vector<int64_t>>{{3, 2}, {3}}) {
      values_.push_back(at::randn(shape, generator));
      gradients_.push_back(at::randn(shape, generator));
    }
  }

  size_t size() const override { return values_.size(); }
  const std::string& name(size_t index) const override {
    static const std::string names[] = {"layer.weight", "layer.bias"};
    return names[index];
  }
  tenon_tensor* value(size_t index) const override { return components::to_handle(values_[index]); }
  tenon_tensor* gradient(size_t index) const override {
    return present_ ? components::to_handle(gradients_[index]) : nullptr;
  }
  void have_gradients(bool present) { present_ = present; }

 private:
  std::vector<at::Tensor> values_;
  std::vector<at::Tensor> gradients_;
  bool present_ = false;
};

// A short fake run for a callback, without any training: events in the order of a real run, with fake metrics.
class FakeRun {
 public:
  FakeRun(const Session& session, const Callback& callback) : callback_(callback), tensors_(session.seed()) {
    run_.size = sizeof run_;
    run_.context = const_cast<Session*>(&session);
    run_.total_steps = kEpochs * kSteps;
    run_.steps_per_epoch = kSteps;
    run_.learning_rate = 0.001;
    run_.world_size = 1;
    run_.metric = read_metric;
    run_.log_scalar = ignore_scalar;
    run_.step_loss = read_step_loss;
    view_.total_epochs = kEpochs;
    view_.tensors = &tensors_;
    view_.direction = read_direction;
    view_.description = &description_;
  }

  // Dispatches the subscribed events. Throws support::Error, or Failed if the reason of a request is invalid.
  void dispatch_all() {
    for (const uint32_t event : {TENON_RUN_SETUP, TENON_RUN_START, TENON_CHECKPOINT_LOADED}) dispatch(event);
    for (run_.epoch = 1; run_.epoch <= kEpochs; ++run_.epoch) {
      view_.step_in_epoch = view_.samples_in_epoch = 0;
      dispatch(TENON_EPOCH_START);
      for (int64_t step = 0; step < kSteps; ++step) dispatch_step();
      dispatch_validation();
      for (const uint32_t event : {TENON_CHECKPOINT_BEFORE, TENON_CHECKPOINT_AFTER}) dispatch(event);
      if (run_.epoch == kEpochs) dispatch(TENON_STOP_REQUESTED);
      dispatch(TENON_EPOCH_END);
    }
    run_.epoch = kEpochs;
    for (const uint32_t event : {TENON_RUN_END, TENON_RUN_TEARDOWN}) dispatch(event);
  }

 private:
  void dispatch(uint32_t event) {
    if (!callback_.subscribes(event)) return;
    const std::vector<tenon_run_value> values = list_values(event, run_.step);
    view_.values = values.data();
    view_.value_count = values.size();
    const tenon_string reason = callback_.on_event(event, run_).reason;
    constexpr uint64_t kMaxLength = 1 << 16;
    if (reason.size > kMaxLength || (reason.size > 0 && !reason.data))
      throw Failed("on_event at {} returns a reason of {} bytes; expected at most 65536 and a non-null pointer",
                   components::event_name(event), reason.size);
  }

  void dispatch_validation() {
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

  void dispatch_step() {
    for (const uint32_t event : {TENON_BATCH_FETCHED, TENON_STEP_START, TENON_FORWARD_END, TENON_LOSS_END})
      dispatch(event);
    tensors_.have_gradients(true);
    for (const uint32_t event : {TENON_BACKWARD_END, TENON_GRADS_READY, TENON_OPTIMIZER_BEFORE}) dispatch(event);
    tensors_.have_gradients(false);
    ++run_.step;
    ++view_.step_in_epoch;
    view_.samples_in_epoch += kSamples;
    run_.time_s += 0.5;
    for (const uint32_t event : {TENON_OPTIMIZER_AFTER, TENON_STEP_END, TENON_LOG}) dispatch(event);
  }

  const Callback& callback_;
  const components::RunDescription description_{"fake", "", true, {{"optimizer.lr", "0.001"}, {"run.name", "fake"}}};
  components::RunView view_;
  tenon_run& run_ = view_.base;
  FakeTensors tensors_;
};

void check_subscription(Session& session) {
  const Callback first(session.component(), session.plan()), second(session.component(), session.plan());
  if (first.events() != second.events() || first.priority() != second.priority())
    throw Failed("subscribe returns different events or a different priority the second time");
  if (first.events() == 0) session.warn("subscribe requests no event, so on_event is never called");
}

// ---- Saved states --------------------------------------------------------------------------------------------------

// The state of a callback after a fake run, or of another component as created.
std::string save_after_use(const Session& session) {
  if (!components::find_extension_table(session.component(), TENON_SAVED_STATE))
    throw Skipped("it has no saved state (" TENON_SAVED_STATE ")");
  if (session.component().schema.kind != config::ComponentKind::callback) return session.create().save_state();
  const Callback callback(session.component(), session.plan());
  FakeRun(session, callback).dispatch_all();
  return callback.save_state();
}

void check_saved_state(Session& session) {
  const std::string saved = save_after_use(session);
  const auto other = session.create();
  try {
    other.load_state(saved);
  } catch (const support::Error& error) {
    throw Failed(std::string("load rejects the state that save returned: ") + error.what());
  }
  const std::string again = other.save_state();
  if (again != saved)
    throw Failed(
        "save returns different bytes after load than were loaded ({} bytes, loaded {}); expected equal bytes for "
        "equal states",
        again.size(), saved.size());
}

void check_foreign_state(Session& session) {
  const std::string saved = save_after_use(session);
  std::string flipped = saved;
  for (char& byte : flipped) byte = static_cast<char>(~byte);
  for (const std::string& bytes : {std::string(), saved.substr(0, saved.size() / 2), saved + saved, flipped,
                                   std::string(3, '\xFF'), std::string(4096, '\x7F')}) {
    const auto instance = session.create();
    try {
      instance.load_state(bytes);
    } catch (const support::Error&) {
      session.require_reason("load of bytes that are not a saved state");
    }
    instance.save_state();
  }
}

}  // namespace

void use_callback(Session& session) {
  const Callback callback(session.component(), session.plan());
  FakeRun(session, callback).dispatch_all();
}

std::vector<Check> callback_checks() {
  return {{"subscribe", Level::contract, {"create"}, check_subscription},
          {"events", Level::contract, {"subscribe"}, use_callback}};
}

std::vector<Check> state_checks() {
  return {{"saved-state", Level::training, {"extensions", "usable"}, check_saved_state},
          {"foreign-state", Level::training, {"saved-state"}, check_foreign_state}};
}

}  // namespace tenon::validation
