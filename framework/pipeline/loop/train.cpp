#include "framework/pipeline/loop/train.h"

#include <utility>

#include "framework/components/calls/kept_settings.h"
#include "framework/pipeline/checks/check_data.h"
#include "framework/pipeline/checks/check_finite.h"
#include "framework/pipeline/checks/check_model.h"
#include "framework/pipeline/checks/check_resumed_rate.h"
#include "framework/pipeline/checks/first_loss_check.h"
#include "framework/pipeline/checks/self_check.h"
#include "framework/pipeline/device/device_error.h"
#include "framework/pipeline/device/device_memory.h"
#include "framework/pipeline/loop/checkpoint_saver.h"
#include "framework/pipeline/loop/checkpointed_run.h"
#include "framework/pipeline/loop/loop_state.h"
#include "framework/pipeline/loop/run_events.h"
#include "framework/pipeline/loop/train_step.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {
namespace {

// The training loop and its state. The order of events is documented at the top of tenon/callback.h.
class Loop {
 public:
  Loop(Training& training, const std::vector<Observer*>& observers, Recorder& recorder, const SignalRequests& signals,
       std::optional<Checkpoint> resumed)
      : training_(training),
        step_times_(training.times = StageTimes()),
        resumed_(std::move(resumed)),
        progress_(training),
        requests_(training, signals, [this] { return events_.elapsed_s(); }),
        events_(training, state_, train_step_, requests_, observers, recorder),
        train_step_(
            training,
            [this](Event event) {
              if (event == Event::optimizer_before) phase_ = Phase::updating;
              events_.dispatch(event);
            },
            [this](const StepMetrics& metrics) { progress_.add_results(metrics); }),
        checkpointed_run_{training, progress_, train_step_, requests_, observers},
        saver_(checkpointed_run_, events_, recorder),
        first_loss_check_(training) {
    state_.folder = recorder.folder().string();
    state_.read_epoch_loss = [this] { return progress_.epoch_losses.total(); };
  }

  RunReport run() {
    try {
      events_.dispatch(Event::run_setup);
      events_.start_clock();
      reset_peak_memory(training_.device);
      events_.dispatch(Event::run_start);
      const bool is_resumed = resumed_.has_value();
      if (is_resumed) load_state(*std::exchange(resumed_, std::nullopt));
      saver_.start();
      check_ranks(training_);
      if (is_resumed || !training_.plan->model.weights.empty()) events_.dispatch(Event::checkpoint_loaded);
      if (is_resumed)
        resume();
      else
        begin();
      while (!is_over()) run_epoch();
      finish();
      if (training_.plan->checkpoint.load_best_at_end && report_.signal == 0) load_best();
      if (!training_.test.empty() && report_.signal == 0) test();
      const NamedMetrics tested = report_.test ? report_.test->metrics : NamedMetrics();
      events_.dispatch(Event::run_end, &tested);
      events_.record_remaining_scalars();
    } catch (const std::exception& error) {
      if (is_device_error(error)) {
        // Nothing can be read from the device any more, so nothing is saved.
        const support::Error explained = explain_device_error(error, state_.step + 1);
        end_after_failure(explained.what());
        throw explained;
      }
      save_after_failure();
      end_after_failure(error.what());
      throw;
    }
    events_.dispatch_to_all(Event::run_teardown);
    report_.state = state_;
    report_.state.read_epoch_loss = nullptr;  // it refers to this loop
    report_.best = progress_.checkpoint_policy.best();
    report_.stages = training_.times.list();
    report_.memory_format = training_.memory_format;
    return std::move(report_);
  }

 private:
  // A run limited by epochs finishes its last epoch, even if unreadable batches leave it with fewer steps.
  bool is_over() const {
    if (is_stopping() || state_.step >= state_.total_steps) return true;
    return training_.plan->train.epochs > 0 && state_.epoch == state_.total_epochs && state_.is_epoch_complete;
  }

  void begin() {
    if (state_.rank == 0)
      train_step_.inspect_next_batch([this](BoundDataset& data, const BatchTensors& batch_tensors, const auto& losses) {
        for (const std::string& warning : check_class_counts(training_, &batch_tensors.outputs))
          support::log_warning(warning);
        for (const std::string& warning : check_targets(training_, batch_tensors)) support::log_warning(warning);
        first_loss_check_.start(data, batch_tensors, losses, context());
      });
    check_precision(training_);
    if (!training_.plan->validation.at_start) return;
    validate();
    if (progress_.checkpoint_policy.has_unsaved_best()) save_checkpoint();
    stop_if_requested();
  }

  // Continues after the checkpoint of load_state(): in its epoch, unless that epoch had ended.
  void resume() {
    events_.record(LineKind::checkpoint, {});
    events_.dispatch(Event::checkpoint_after);
    progress_.checkpoint_policy.restart(requests_.time_s());
    // With other batches, the schedule has the same length in other steps.
    const bool has_same_steps = progress_.steps.per_epoch() == progress_.steps.first_per_epoch();
    if (state_.rank == 0 && has_same_steps && progress_.schedule_step() > 0 && !is_over())
      report_resumed_rate(training_, progress_.schedule_step(), state_.step, state_.learning_rate);
    stop_if_requested();
    if (state_.epoch == 0 || progress_.has_epoch_ended) return;
    prepare_epoch();
    data::Feed& feed = training_.train->feed;
    if (state_.is_epoch_complete) progress_.batches_in_epoch = feed.batches(progress_.rest);
    feed.start(state_.epoch, progress_.batches_in_epoch, progress_.skipped_in_epoch, progress_.rest);
    // With drop_last, the rest of an epoch that other ranks began may have no batch.
    const bool has_no_rest = !state_.is_epoch_complete && progress_.batches_in_epoch == feed.batches();
    state_.is_epoch_complete |= has_no_rest;
    if (progress_.misses_validation) {
      validate_if(true);
      if (!progress_.misses_validation) progress_.checkpoint_policy.set_outdated();
      if (progress_.checkpoint_policy.has_unsaved_best()) save_checkpoint();
      stop_if_requested();
    }
    if (has_no_rest) after_step();
    run_steps();
  }

  void run_epoch() {
    ++state_.epoch;
    state_.epoch_start_s = events_.elapsed_s();
    state_.epoch_validation_s = 0;
    state_.step_in_epoch = 0;
    state_.samples_in_epoch = 0;
    state_.is_epoch_complete = false;
    progress_.has_epoch_ended = false;
    progress_.rest = {};
    progress_.batches_in_epoch = 0;
    progress_.epoch_losses.reset();
    progress_.epoch_metrics.reset();
    training_.train_metrics.reset();
    prepare_epoch();
    events_.dispatch(Event::epoch_start);
    training_.train->feed.start(state_.epoch);
    run_steps();
  }

  // Switches to the data and the trainable parameters of the epoch.
  void prepare_epoch() {
    training_.use_data_of_epoch(state_.epoch);
    training_.optimizer->start_epoch(state_.epoch);
    if (training_.frozen_statistics) training_.frozen_statistics->start_epoch(state_.epoch);
    train_step_.start_epoch();
  }

  // Continues from the current position of the feed.
  void run_steps() {
    data::Feed& feed = training_.train->feed;
    while (progress_.batches_in_epoch < feed.batches() && !is_over()) {
      if (!has_started_step_) phase_ = Phase::reading_between_steps;
      const data::Batch* batch = next_batch(feed);  // null if only other ranks have a share
      phase_ = Phase::computing;
      state_.is_epoch_complete = ++progress_.batches_in_epoch == feed.batches();
      const bool is_last =
          progress_.batches_in_epoch % training_.plan->train.accumulate == 0 || state_.is_epoch_complete;
      const int64_t samples = batch ? batch->size : 0;
      step_samples_ += samples;
      // Requests are sent with the step's metrics, so that all ranks handle them after the same step.
      if (is_last) requests_.start_sync(step_samples_);
      if (samples > 0) {
        events_.dispatch(Event::batch_fetched);
        start_step();
        train_step_.run_batch(*batch, context(), is_last);
      } else if (train_step_.joins_batch(is_last)) {
        start_step();
        train_step_.join_without_batch(context(), is_last);
      }
      if (!is_last) continue;
      has_started_step_ = false;
      step_samples_ = 0;
      const int64_t samples_of_all = requests_.finish_sync().samples_of_all_ranks;
      state_.samples_in_epoch += samples_of_all;
      if (samples_of_all > 0)
        finish_step();
      else
        train_step_.drop();  // no sample could be read
      if (training_.frozen_statistics) training_.frozen_statistics->check_once();
      after_step();
    }
    end_epoch();
  }

  const data::Batch* next_batch(data::Feed& feed) {
    const InStage stage(training_.times, Stage::data);
    return feed.next();
  }

  // At the first batch of a step.
  void start_step() {
    if (std::exchange(has_started_step_, true)) return;
    rates_ = training_.schedule.rates(progress_.schedule_step());
    state_.learning_rate = rates_.learning_rate;
    events_.dispatch(Event::step_start);
  }

  void finish_step() {
    const bool with_norm = progress_.log_due.is_due_next(state_, requests_.time_s()) || state_.is_epoch_complete ||
                           requests_.has(Request::log);
    train_step_.finish_step(rates_, with_norm);
    phase_ = Phase::computing;
    take_first_loss();
    ++state_.step;
    ++state_.step_in_epoch;
    update_average();
    events_.dispatch(Event::step_end);
  }

  // Waits for the results of all steps.
  void drain() {
    train_step_.drain();
    first_loss_check_.drain();
    take_first_loss();
  }

  // On a device it arrives after the step.
  void take_first_loss() {
    if (state_.first_loss || !first_loss_check_.result()) return;
    state_.first_loss = first_loss_check_.result();
    support::log_info(describe(*state_.first_loss));
  }

  void update_average() {
    if (!training_.evaluation_weights || !progress_.advance_average(requests_.time_s())) return;
    const InStage stage(training_.times, Stage::optimizer);
    training_.evaluation_weights->update();
  }

  // Runs the actions that are due. Observers called by one action may request a later one.
  void after_step() {
    const bool logs = progress_.log_due.advance(state_, requests_.time_s());
    if (logs || requests_.has(Request::log)) log();
    if (state_.is_epoch_complete) {
      drain();
      progress_.require_samples();
      const NamedMetrics metrics = epoch_metrics();
      events_.remember(metrics);
      training_.update_schedule(metrics);
    }
    validate_if(progress_.validation_due.advance(state_, requests_.time_s()));
    const bool saves = progress_.checkpoint_policy.advance(state_, requests_.time_s());
    if (saves || requests_.has(Request::save) || progress_.checkpoint_policy.has_unsaved_best()) save_checkpoint();
    stop_if_requested();
    // Save before leaving the epoch, because the resumed run continues in it.
    const bool is_cut_short = is_stopping() && report_.signal != 0 && !has_whole_epoch();
    if (is_cut_short && !progress_.checkpoint_policy.has_checkpoint_of(state_.step)) save_checkpoint();
  }

  // A signal stops the run after this step, without waiting for a validation. The resumed run then begins with it.
  void validate_if(bool is_due) {
    if ((is_due || requests_.has(Request::evaluate)) && requests_.signal() == 0) validate();
    progress_.misses_validation = is_due && requests_.signal() != 0 && state_.validated_step != state_.step;
  }

  bool has_whole_epoch() const { return state_.is_epoch_complete && !progress_.misses_validation; }

  void log() {
    requests_.take(Request::log);
    restore_settings();
    drain();
    NamedMetrics metrics = progress_.metrics(progress_.log_losses);
    progress_.log_losses.reset();
    events_.remember(metrics);
    // Not remembered: checkpoints have no times of steps.
    for (const auto& time : step_times_.read(state_.step)) metrics.push_back(time);
    events_.dispatch(Event::log, &metrics);
    events_.take_scalars(metrics);
    events_.record(LineKind::step, metrics);
    progress_.log_due.restart(requests_.time_s());
    step_times_.restart(state_.step);
  }

  void validate() {
    const StepTimes::Pause pause(step_times_);
    const InStage stage(training_.times, Stage::validation);
    requests_.take(Request::evaluate);
    drain();
    const double start_s = events_.elapsed_s();
    pipeline::validate(checkpointed_run_, context(), events_);
    state_.epoch_validation_s += events_.elapsed_s() - start_s;
  }

  void save_checkpoint() {
    const StepTimes::Pause pause(step_times_);
    const InStage stage(training_.times, Stage::checkpoint);
    requests_.take(Request::save);
    restore_settings();
    drain();
    saver_.save(is_stopping());
  }

  // What a plugin changed in a call that is not compared itself must not harm the files of the run, or its end by a
  // signal.
  void restore_settings() const {
    components::restore_host_settings("", fmt::format("a function of a plugin up to step {}", state_.step));
  }

  // The last metrics and checkpoint of a run must belong to its last weights.
  void finish() {
    const bool validates = training_.plan->validation.every.unit != config::Period::Unit::never;
    if (validates && state_.validated_step != state_.step && requests_.signal() == 0) validate();
    if (!progress_.checkpoint_policy.has_checkpoint_of(state_.step) || progress_.checkpoint_policy.has_unsaved_best())
      save_checkpoint();
  }

  // Loads the best weights of the run, which are used after its end.
  void load_best() {
    if (!progress_.checkpoint_policy.best()) {
      if (state_.rank == 0)
        support::log_warning(
            "checkpoint.load_best_at_end: {} was not a number in any validation since the run started or resumed, so "
            "there is no best checkpoint; the run ends with its last weights, of step {}",
            training_.monitor->metric, state_.step);
      return;
    }
    const BestCheckpoint best = saver_.load_best_weights();
    for (const auto& [name, value] : best.metrics) state_.metrics[name] = value;
    events_.dispatch(Event::checkpoint_loaded);
  }

  void test() {
    report_.test = evaluate_test_data(checkpointed_run_, context(), saver_, events_);
    if (report_.test) return;
    const std::optional<StopRequest> requested = requests_.stop();
    TENON_CHECK(requested && requested->signal != 0, "the test data were not evaluated, and there is no signal");
    stop(*requested);
    if (state_.rank == 0) support::log_info("the test data were not evaluated; they will be if the run resumes");
  }

  // Nothing is saved if the weights are divided over the ranks, which cannot communicate any more.
  void save_after_failure() noexcept {
    if (phase_ == Phase::updating || progress_.checkpoint_policy.has_checkpoint_of(state_.step) || state_.step == 0)
      return;
    if (training_.parameter_shards) return;
    try {
      const bool is_between_steps = phase_ == Phase::reading_between_steps;
      if (is_between_steps) drain();
      saver_.save_after_failure(is_between_steps);
    } catch (const std::exception& error) {
      support::log_warning("cannot save a checkpoint of the failed run: {}", error.what());
    }
  }

  void end_after_failure(const std::string& error) {
    state_.error = error;
    events_.dispatch_to_all(Event::run_exception);
    events_.dispatch_to_all(Event::run_teardown);
  }

  NamedMetrics epoch_metrics() {
    NamedMetrics metrics = progress_.metrics(progress_.epoch_losses);
    // Combining the states of all ranks changes them, so it is done once.
    if (!progress_.epoch_metrics) {
      training_.train_metrics.combine(*training_.group);
      training_.group->wait_for_device(training_.device);
      progress_.epoch_metrics = training_.train_metrics.compute("train/", context());
    }
    metrics.insert(metrics.end(), progress_.epoch_metrics->begin(), progress_.epoch_metrics->end());
    const data::Feed& feed = training_.train->feed;
    training_.train->add_skipped(metrics, feed.may_skip() ? requests_.add_up(feed.skipped()) : 0);
    return metrics;
  }

  // An interrupted epoch gets no line in the history: it would look like a complete one.
  void end_epoch() {
    drain();
    if (state_.epoch == 1 && !is_stopping() && progress_.skipped_steps == 0)
      check_items(training_, progress_.epoch_losses);
    NamedMetrics metrics = epoch_metrics();
    events_.remember(metrics);
    const bool records = has_whole_epoch() || !is_stopping();
    events_.dispatch(Event::epoch_end, records ? &metrics : nullptr);
    if (records) {
      events_.take_scalars(metrics);
      events_.record(LineKind::epoch, metrics);
    }
    requests_.sync_now();
    stop_if_requested();
    progress_.has_epoch_ended = records && state_.is_epoch_complete;
  }

  // Handles the first request to stop by ending the loop. A request in the last step is ignored, unless its validation
  // has been skipped.
  void stop_if_requested() {
    const bool is_ignored = is_stopping() || (is_over() && !progress_.misses_validation);
    const std::optional<StopRequest> requested = is_ignored ? std::nullopt : requests_.stop();
    if (!requested) return;
    stop(*requested);
    events_.dispatch(Event::stop_requested);
  }

  void stop(const StopRequest& request) {
    report_.end = RunReport::End::stopped;
    report_.signal = request.signal;
    report_.reason = request.reason;
    state_.stop_signal = request.signal;
  }

  bool is_stopping() const { return report_.end == RunReport::End::stopped; }

  void load_state(const Checkpoint& resumed) {
    load_run(checkpointed_run_, resumed.model, resumed.excluded, resumed.state);
    events_.start_clock(state_.time_s);
    step_times_.restart(state_.step);
  }

  components::StepContext context() const {
    components::StepContext context{true,        state_.step,       state_.epoch,
                                    state_.rank, state_.world_size, training_.plan->run.seed};
    context.checkpoints_activations = training_.plan->train.activation_checkpointing;
    context.forward_observer = training_.parameter_shards.get();
    return context;
  }

  // What the training thread does.
  enum class Phase {
    computing,
    reading_between_steps,  // waits for the first batch of a step
    updating                // between optimizer_before and the end of the step, while the weights are inconsistent
  };

  Training& training_;
  StepTimes step_times_;
  std::optional<Checkpoint> resumed_;  // until it is loaded
  LoopState progress_;
  RunState& state_ = progress_.state;
  Requests requests_;
  RunEvents events_;
  TrainStep train_step_;
  CheckpointedRun checkpointed_run_;
  CheckpointSaver saver_;
  FirstLossCheck first_loss_check_;
  int64_t step_samples_ = 0;       // of this rank
  optimization::StepRates rates_;  // of the current step
  bool has_started_step_ = false;  // and not ended it
  Phase phase_ = Phase::computing;
  RunReport report_;
};

}  // namespace

RunReport train(Training& training, const std::vector<Observer*>& observers, Recorder& recorder,
                const SignalRequests& signals, std::optional<Checkpoint> resumed) {
  try {
    return Loop(training, observers, recorder, signals, std::move(resumed)).run();
  } catch (...) {
    if (training.group->lost()) throw support::Error(*training.group->lost());
    throw;
  }
}

}  // namespace tenon::pipeline
