// Callbacks in C++. A class becomes a callback by defining a member function for each event that it handles. The
// function is named after the event, and its Requests parameter is optional. callback.h lists the events in the order
// of the training loop.
//
//   static std::vector<tenon::Param> schema();      // optional: the parameters
//   explicit T(const tenon::Params& params);        // or T()
//   void on_step_end(const tenon::Run& run);
//   void on_validation_end(const tenon::Run& run, tenon::Requests& requests);    // requests.stop("it is good enough")
//   int32_t priority() const;                       // optional, 0 by default: a smaller one is called first
//   std::string save_state() const;                 // optional, both or neither: the state for a checkpoint;
//   void load_state(std::string_view bytes);        //   equal states give equal bytes (saved_state.h)
//
// Register the class with tenon::callback<T>("id", "one line") in TENON_PLUGIN. A class may also define a function for
// any event, instead of or in addition to the named functions:
//
//   void on_event(tenon::Event event, const tenon::Run& run, tenon::Requests& requests);
//   std::vector<tenon::Event> events() const;       // optional, all events by default
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "callback.h"
#include "component.hpp"
#include "detail/detect.hpp"
#include "detail/instance.hpp"
#include "parameter_roles.hpp"
#include "saved_state.h"

#define TENON_EACH_EVENT(X)                           \
  X(run_setup, TENON_RUN_SETUP)                       \
  X(run_start, TENON_RUN_START)                       \
  X(checkpoint_loaded, TENON_CHECKPOINT_LOADED)       \
  X(epoch_start, TENON_EPOCH_START)                   \
  X(batch_fetched, TENON_BATCH_FETCHED)               \
  X(step_start, TENON_STEP_START)                     \
  X(forward_end, TENON_FORWARD_END)                   \
  X(loss_end, TENON_LOSS_END)                         \
  X(backward_end, TENON_BACKWARD_END)                 \
  X(grads_ready, TENON_GRADS_READY)                   \
  X(optimizer_before, TENON_OPTIMIZER_BEFORE)         \
  X(optimizer_after, TENON_OPTIMIZER_AFTER)           \
  X(step_end, TENON_STEP_END)                         \
  X(validation_start, TENON_VALIDATION_START)         \
  X(validation_batch_end, TENON_VALIDATION_BATCH_END) \
  X(validation_end, TENON_VALIDATION_END)             \
  X(log, TENON_LOG)                                   \
  X(checkpoint_before, TENON_CHECKPOINT_BEFORE)       \
  X(checkpoint_after, TENON_CHECKPOINT_AFTER)         \
  X(stop_requested, TENON_STOP_REQUESTED)             \
  X(epoch_end, TENON_EPOCH_END)                       \
  X(run_end, TENON_RUN_END)                           \
  X(run_exception, TENON_RUN_EXCEPTION)               \
  X(run_teardown, TENON_RUN_TEARDOWN)

namespace tenon {

#define TENON_ENUMERATE(name, value) name = (value),
enum class Event : uint32_t { TENON_EACH_EVENT(TENON_ENUMERATE) };
#undef TENON_ENUMERATE

// Returns the name of the event, such as "validation_end".
inline const char* to_string(Event event) {
  switch (event) {
#define TENON_NAME(name, value) \
  case Event::name: return #name;
    TENON_EACH_EVENT(TENON_NAME)
#undef TENON_NAME
  }
  return "an unknown event";
}

// The read-only state of the run at the event.
class Run {
 public:
  explicit Run(const tenon_run* run) : run_(run) {}

  int64_t epoch() const { return run_->epoch; }  // counted from 1; 0 before the first epoch
  int64_t step() const { return run_->step; }    // number of completed optimizer steps
  int64_t total_steps() const { return run_->total_steps; }
  int64_t steps_per_epoch() const { return run_->steps_per_epoch; }
  double time_s() const { return run_->time_s; }  // seconds since run_start
  double learning_rate() const { return run_->learning_rate; }
  uint32_t rank() const { return run_->rank; }
  uint32_t world_size() const { return run_->world_size; }
  // The absolute path of the run folder, where the plugin may write files. Empty if there is no run folder.
  std::string folder() const { return detail::copy(run_->folder); }
  // At validation_start and validation_batch_end: the name of the validation set, the number of its completed batches,
  // and the number of all its batches.
  std::string validation() const { return detail::copy(run_->validation); }
  int64_t validation_batch() const { return run_->validation_batch; }
  int64_t validation_batches() const { return run_->validation_batches; }
  // At run_exception: the error message.
  std::string error() const { return detail::copy(run_->error); }

  // Returns the loss of the last step, or NaN before the first step. Synchronises with a device that is still computing
  // the loss.
  double step_loss() const {
    double loss = 0;
    int64_t step = 0;
    detail::check(run_->step_loss(run_, 1, &loss, &step));
    return loss;
  }

  // The latest known loss, and the number of steps that were completed with it. Reading it does not synchronise with
  // the device, so the loss may be some steps late.
  struct StepLoss {
    double loss;   // NaN before the first step
    int64_t step;  // 0 before the first step
  };
  StepLoss latest_step_loss() const {
    StepLoss latest = {};
    detail::check(run_->step_loss(run_, 0, &latest.loss, &latest.step));
    return latest;
  }

  // Returns the latest value of a metric, such as `train/loss` or `validation/accuracy`. Throws Error and suggests
  // similar names if the run has no such metric.
  double metric(std::string_view name) const {
    double value = 0;
    detail::check(run_->metric(run_, detail::borrow(name), &value));
    return value;
  }

  // Adds a value of the plugin to the next line of the history.
  void log_scalar(std::string_view name, double value) const {
    detail::check(run_->log_scalar(run_, detail::borrow(name), value));
  }

  const tenon_run* get() const { return run_; }  // for extensions of the host

 private:
  const tenon_run* run_;
};

// The requests of a callback. The requests of all callbacks and ranks are combined.
class Requests {
 public:
  void stop(std::string reason) { request(TENON_REQUEST_STOP, std::move(reason)); }       // end the run after this step
  void save(std::string reason = {}) { request(TENON_REQUEST_SAVE, std::move(reason)); }  // write a checkpoint after it
  void evaluate(std::string reason = {}) { request(TENON_REQUEST_EVALUATE, std::move(reason)); }  // validate after it
  void log() { request(TENON_REQUEST_LOG, {}); }  // write a line of history after it

  uint32_t flags() const { return flags_; }
  const std::string& reason() const { return reason_; }

 private:
  void request(uint32_t what, std::string reason) {
    flags_ |= what;
    if (reason.empty()) return;
    reason_ = reason_.empty() ? std::move(reason) : reason_ + "; " + reason;
  }

  uint32_t flags_ = 0;
  std::string reason_;
};

namespace detail {

// Detects a function by its name only, so that a function with wrong parameters is an error rather than ignored.
#define TENON_DETECT_EVENT(name, value) TENON_DETECT(on_##name, &T::on_##name);
TENON_EACH_EVENT(TENON_DETECT_EVENT)
TENON_DETECT_EVENT(event, )
#undef TENON_DETECT_EVENT

TENON_DETECT(events, &T::events);
TENON_DETECT(priority, &T::priority);
TENON_DETECT(save_state, &T::save_state);
TENON_DETECT(load_state, &T::load_state);

template <class T, class Function>
void invoke(T& callback, Function function, const Run& run, Requests& requests) {
  if constexpr (std::is_invocable_v<Function, T&, const Run&, Requests&>) {
    (callback.*function)(run, requests);
  } else {
    static_assert(std::is_invocable_v<Function, T&, const Run&>,
                  "on_<event> takes (const tenon::Run&) or (const tenon::Run&, tenon::Requests&)");
    (callback.*function)(run);
  }
}

template <class T>
struct TENON_HIDDEN CallbackInstance : PortableInstance {
  using Self = CallbackInstance;

  explicit CallbackInstance(const tenon_params* params)
      : component(construct<T>(params)), events(subscribed(component)) {}

  // The events that on_event() handles.
  static uint64_t subscribed_by_on_event([[maybe_unused]] const T& callback) {
    uint64_t events = 0;
    if constexpr (has_on_event<T> && has_events<T>) {
      for (const Event event : callback.events()) events |= TENON_EVENT_BIT(static_cast<uint32_t>(event));
    } else if constexpr (has_on_event<T>) {
      events = TENON_EVENT_BIT(TENON_EVENT_COUNT) - 1;
    }
    return events;
  }

  // The events that the named functions handle.
  static constexpr uint64_t named() {
    uint64_t events = 0;
#define TENON_SUBSCRIBE(name, value) \
  if constexpr (has_on_##name<T>) events |= TENON_EVENT_BIT(value);
    TENON_EACH_EVENT(TENON_SUBSCRIBE)
#undef TENON_SUBSCRIBE
    return events;
  }

  static uint64_t subscribed(const T& callback) {
    static_assert(named() != 0 || has_on_event<T>, "a callback needs an on_<event> function: see callback.h");
    return named() | subscribed_by_on_event(callback);
  }

  static void dispatch(T& callback, Event event, const Run& run, Requests& requests) {
    switch (event) {
#define TENON_DISPATCH(name, value)                                                 \
  case Event::name:                                                                 \
    if constexpr (has_on_##name<T>) invoke(callback, &T::on_##name, run, requests); \
    break;
      TENON_EACH_EVENT(TENON_DISPATCH)
#undef TENON_DISPATCH
    }
    if constexpr (has_on_event<T>) {
      if (subscribed_by_on_event(callback) & TENON_EVENT_BIT(static_cast<uint32_t>(event))) {
        callback.on_event(event, run, requests);
      }
    }
  }

  void subscribe(uint64_t* subscribed_events, int32_t* priority) {
    *subscribed_events = events;
    *priority = 0;
    if constexpr (has_priority<T>) *priority = component.priority();
  }

  void on_event(uint32_t event, const tenon_run* run, tenon_requests* requests) {
    Requests requested;
    dispatch(component, static_cast<Event>(event), Run(run), requested);
    reason = requested.reason();
    requests->flags = requested.flags();
    requests->reason = borrow(reason);
  }

  void save(tenon_string* bytes) {
    state = std::as_const(component).save_state();
    *bytes = borrow(state);
  }

  void load(tenon_string bytes) { component.load_state(std::string_view(bytes.data, bytes.size)); }

  static const void* get_extension(tenon_string id) {
    static_assert(has_save_state<T> == has_load_state<T>, "define both save_state and load_state, or neither");
    if constexpr (has_save_state<T>) {
      static constexpr tenon_saved_state kSavedState = {sizeof(tenon_saved_state), &call_member<Self, &Self::save>,
                                                        &call_member<Self, &Self::load>};
      if (copy(id) == TENON_SAVED_STATE) return &kSavedState;
    }
    return Extensions<ParameterRolesExtension<T>>::find(id);
  }

  T component;
  const uint64_t events;
  std::string reason;  // reason of the last request
  std::string state;   // state that was saved last

  static constexpr tenon_callback table = [] {
    tenon_callback made = {};  // what newer versions append is null
    made.size = sizeof made;
    made.create = &create<Self>;
    made.destroy = &destroy<Self>;
    made.subscribe = &call_member<Self, &Self::subscribe>;
    made.on_event = &call_member<Self, &Self::on_event>;
    return made;
  }();
};

}  // namespace detail

// Registers T as the callback `id`.
template <class T>
Component callback(std::string id, std::string doc) {
  using Instance = detail::CallbackInstance<T>;
  return detail::describe_component<T>(TENON_CALLBACK, std::move(id), std::move(doc), &Instance::table,
                                       &Instance::get_extension);
}

}  // namespace tenon

#undef TENON_EACH_EVENT
