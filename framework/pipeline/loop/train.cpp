#include "framework/pipeline/loop/train.h"

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/pipeline/build/monitored_metrics.h"
#include "framework/pipeline/checks/check_class_counts.h"
#include "framework/pipeline/checks/check_finite.h"
#include "framework/pipeline/checks/check_ranks.h"
#include "framework/pipeline/checks/check_targets.h"
#include "framework/pipeline/checks/first_loss_check.h"
#include "framework/pipeline/checks/self_check.h"
#include "framework/pipeline/device/count_waits.h"
#include "framework/pipeline/device/device_error.h"
#include "framework/pipeline/device/device_memory.h"
#include "framework/pipeline/evaluation/evaluate.h"
#include "framework/pipeline/loop/checkpointed_run.h"
#include "framework/pipeline/loop/kept_weights.h"
#include "framework/pipeline/loop/loop_state.h"
#include "framework/pipeline/loop/requests.h"
#include "framework/pipeline/loop/train_step.h"
#include "framework/pipeline/loop/training_state.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::pipeline {

namespace {

// The weights for evaluation and checkpoints.
using AveragedWeights = optimization::EvaluationWeights::InPlace;

// Shows values to observers while it lives, also if one of them throws.
class EventValues {
 public:
  EventValues(RunState& state, const NamedMetrics* values) : state_(state) { state_.event_values = values; }
  ~EventValues() { state_.event_values = nullptr; }
  EventValues(const EventValues&) = delete;

 private:
  RunState& state_;
};

NamedMetrics join(const std::vector<NamedMetrics>& lines) {
  NamedMetrics all;
  for (const NamedMetrics& line : lines) all.insert(all.end(), line.begin(), line.end());
  return all;
}

// The training loop and its state. The order of events is documented at the top of tenon/callback.h.
class Loop {
 public:
  Loop(Training& training, const std::vector<Observer*>& observers, Recorder& recorder, const SignalRequests& signals,
       std::optional<Checkpoint> resumed)
      : training_(training),
        observers_(observers),
        dispatcher_(observers, training.times = StageTimes()),
        step_times_(training.times),
        recorder_(recorder),
        is_resumed_(resumed.has_value()),
        resumed_(std::move(resumed)),
        loop_(training),
        requests_(*training.group, signals, [this] { return elapsed_s(); }),
        step_(
            training,
            [this](Event event) {
              if (event == Event::optimizer_before) phase_ = Phase::updating;
              dispatch(event);
            },
            [this](const StepMetrics& metrics) { loop_.take(metrics); }),
        first_loss_check_(training) {
    state_.folder = recorder.folder().string();
    state_.read_epoch_loss = [this] { return loop_.epoch_losses.total(); };
  }

  RunReport run() {
    try {
      dispatch(Event::run_setup);
      start_ = std::chrono::steady_clock::now();
      reset_peak_memory(training_.device);
      dispatch(Event::run_start);
      if (resumed_) load_state(*resumed_);
      resumed_.reset();
      infinite_buffers_ = list_infinite_buffers(training_.stored_tensors());
      check_ranks(training_);
      if (is_resumed_ || !training_.plan->model.weights.empty()) dispatch(Event::checkpoint_loaded);
      if (is_resumed_)
        resume();
      else
        begin();
      while (!is_over()) run_epoch();
      finish();
      if (training_.plan->checkpoint.load_best_at_end && report_.signal == 0) load_best();
      if (!training_.test.empty() && report_.signal == 0) test();
      const NamedMetrics tested = report_.test ? report_.test->metrics : NamedMetrics();
      dispatch(Event::run_end, &tested);
      record_remaining_scalars();
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
    dispatch_to_all(Event::run_teardown);
    report_.state = state_;
    report_.state.read_epoch_loss = nullptr;  // it refers to this loop
    report_.best = loop_.checkpoints.best();
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
      step_.inspect_next_batch([this](BoundDataset& data, const BatchTensors& batch_tensors, const auto& losses) {
        for (const std::string& warning : check_class_counts(training_, &batch_tensors.outputs))
          support::log_warning(warning);
        for (const std::string& warning : check_targets(training_, batch_tensors)) support::log_warning(warning);
        first_loss_check_.start(data, batch_tensors, losses, context());
      });
    check_precision(training_);
    if (!training_.plan->validation.at_start) return;
    validate();
    if (loop_.checkpoints.has_unsaved_best()) save_checkpoint();
    take_stop();
  }

  // Continues after the checkpoint of load_state(): in its epoch, unless that epoch had ended.
  void resume() {
    record(LineKind::checkpoint, {});
    dispatch(Event::checkpoint_after);
    loop_.checkpoints.restart(requests_.time_s());
    take_stop();
    if (state_.epoch == 0 || loop_.has_epoch_ended) return;
    use_what_epoch_has();
    data::Feed& feed = training_.train->feed;
    if (state_.is_epoch_complete) loop_.batches_in_epoch = feed.batches(loop_.rest);
    feed.start(state_.epoch, loop_.batches_in_epoch, loop_.skipped_in_epoch, loop_.rest);
    // With drop_last, the rest of an epoch that other ranks began may have no batch.
    const bool has_no_rest = !state_.is_epoch_complete && loop_.batches_in_epoch == feed.batches();
    state_.is_epoch_complete |= has_no_rest;
    if (loop_.misses_validation) {
      validate_if(true);
      if (!loop_.misses_validation) loop_.checkpoints.set_outdated();
      if (loop_.checkpoints.has_unsaved_best()) save_checkpoint();
      take_stop();
    }
    if (has_no_rest) after_step();
    run_steps();
  }

  void run_epoch() {
    ++state_.epoch;
    state_.step_in_epoch = 0;
    state_.samples_in_epoch = 0;
    state_.is_epoch_complete = false;
    loop_.has_epoch_ended = false;
    loop_.rest = {};
    loop_.batches_in_epoch = 0;
    loop_.epoch_losses.reset();
    loop_.epoch_metrics.reset();
    training_.train_metrics.reset();
    use_what_epoch_has();
    dispatch(Event::epoch_start);
    training_.train->feed.start(state_.epoch);
    run_steps();
  }

  // Switches to the data and the trainable parameters of the epoch.
  void use_what_epoch_has() {
    training_.use_data_of_epoch(state_.epoch);
    training_.optimizer->start_epoch(state_.epoch);
    if (training_.frozen_statistics) training_.frozen_statistics->start_epoch(state_.epoch);
    step_.start_epoch();
  }

  // Continues from the current position of the feed.
  void run_steps() {
    data::Feed& feed = training_.train->feed;
    while (loop_.batches_in_epoch < feed.batches() && !is_over()) {
      if (!has_started_step_) phase_ = Phase::reading_between_steps;
      const data::Batch* batch = next_batch(feed);  // null if only other ranks have a share
      phase_ = Phase::computing;
      state_.is_epoch_complete = ++loop_.batches_in_epoch == feed.batches();
      const bool is_last = loop_.batches_in_epoch % training_.plan->train.accumulate == 0 || state_.is_epoch_complete;
      const int64_t samples = batch ? batch->size : 0;
      step_samples_ += samples;
      if (is_last) requests_.start_sync(step_samples_);
      if (samples > 0)
        add_to_step(*batch, is_last);
      else if (step_.joins_batch(is_last))
        join_step_without_batch(is_last);
      if (!is_last) continue;
      has_started_step_ = false;
      if (finish_sync()) finish_step();
      if (training_.frozen_statistics) training_.frozen_statistics->check_once();
      after_step();
    }
    end_epoch();
  }

  const data::Batch* next_batch(data::Feed& feed) {
    const InStage stage(training_.times, Stage::data);
    return feed.next();
  }

  void add_to_step(const data::Batch& batch, bool is_last) {
    dispatch(Event::batch_fetched);
    start_step();
    step_.add(batch, context(), is_last);
  }

  void join_step_without_batch(bool is_last) {
    start_step();
    step_.join_without_batch(context(), is_last);
  }

  // At the first batch of a step.
  void start_step() {
    if (std::exchange(has_started_step_, true)) return;
    rates_ = training_.schedule.rates(loop_.schedule_step());
    state_.learning_rate = rates_.learning_rate;
    dispatch(Event::step_start);
  }

  // With several ranks, requests are sent with the step's metrics, and all ranks handle them after the same step.
  // Returns whether the step has samples. It has none if they could not be read.
  bool finish_sync() {
    step_samples_ = 0;
    const InStage stage(training_.times, training_.waiting_stage());
    const int64_t samples = requests_.finish_sync();
    state_.samples_in_epoch += samples;
    if (samples == 0) step_.drop();
    return samples > 0;
  }

  // Adds the latest requests, at points where all ranks synchronise anyway.
  void sync_now() {
    const InStage stage(training_.times, training_.waiting_stage());
    requests_.sync_now();
  }

  void finish_step() {
    const bool with_norm = loop_.log_due.is_due_next(state_, requests_.time_s()) || state_.is_epoch_complete ||
                           requests_.has(Request::log);
    step_.finish(rates_, with_norm);
    phase_ = Phase::computing;
    take_first_loss();
    ++state_.step;
    ++state_.step_in_epoch;
    update_average();
    dispatch(Event::step_end);
  }

  // Waits for the results of all steps.
  void drain() {
    step_.drain();
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
    if (!training_.average) return;
    if (!loop_.average_due) return training_.average->update();  // the optimizer averages in each step
    const config::Period& start = training_.plan->train.average->start;
    const double passed =
        static_cast<double>(start.unit == config::Period::Unit::epochs ? state_.epoch - 1 : state_.step - 1);
    const bool has_begun = start.unit == config::Period::Unit::never || passed >= start.count;
    if (!loop_.average_due->advance(state_, requests_.time_s()) || !has_begun) return;
    const InStage stage(training_.times, Stage::optimizer);
    training_.average->update();
  }

  // Runs the actions that are due. Observers called by one action may request a later one.
  void after_step() {
    const bool logs = loop_.log_due.advance(state_, requests_.time_s());
    if (logs || requests_.has(Request::log)) log();
    if (state_.is_epoch_complete) {
      drain();
      refuse_empty_epoch();
      const NamedMetrics metrics = epoch_metrics();
      remember(metrics);
      update_schedule(metrics);
    }
    validate_if(loop_.validation_due.advance(state_, requests_.time_s()));
    const bool saves = loop_.checkpoints.advance(state_, requests_.time_s());
    if (saves || requests_.has(Request::save) || loop_.checkpoints.has_unsaved_best()) save_checkpoint();
    take_stop();
    // Save before leaving the epoch, because the resumed run continues in it.
    const bool is_cut_short = is_stopping() && report_.signal != 0 && !has_whole_epoch();
    if (is_cut_short && !loop_.checkpoints.has_saved(state_.step)) save_checkpoint();
  }

  // A signal stops the run after this step, without waiting for a validation. The resumed run then begins with it.
  void validate_if(bool is_due) {
    if ((is_due || requests_.has(Request::evaluate)) && requests_.signal() == 0) validate();
    loop_.misses_validation = is_due && requests_.signal() != 0 && state_.validated_step != state_.step;
  }

  bool has_whole_epoch() const { return state_.is_epoch_complete && !loop_.misses_validation; }

  // A single process gets this error from its feed.
  void refuse_empty_epoch() const {
    if (state_.samples_in_epoch > 0) return;
    throw support::Error(support::ErrorKind::data,
                         training_.train->name() +
                             ": no rank could read any of its samples, see the logs; expected data.on_error = "
                             "\"skip\" to leave at least one: fix the data");
  }

  void log() {
    requests_.take(Request::log);
    drain();
    NamedMetrics metrics = loop_.metrics(loop_.log_losses);
    loop_.log_losses.reset();
    remember(metrics);
    // Not remembered: checkpoints have no times of steps.
    for (const auto& time : step_times_.read(state_.step)) metrics.push_back(time);
    dispatch(Event::log, &metrics);
    take_scalars(metrics);
    record(LineKind::step, metrics);
    loop_.log_due.restart(requests_.time_s());
    step_times_.restart(state_.step);
  }

  // Evaluates all sets and dispatches one validation_end at the end, so that its observers see the metrics of all sets.
  // A signal interrupts it without validation_end.
  void validate() {
    const StepTimes::Pause pause(step_times_);
    const InStage stage(training_.times, Stage::validation);
    requests_.take(Request::evaluate);
    drain();
    AveragedWeights averaged(training_.average.get());
    std::vector<NamedMetrics> lines;
    for (const auto& data : training_.validation) {
      state_.validation_name = data->name();
      state_.validation_batch = 0;
      state_.validation_batches = data->feed.batches();
      dispatch(Event::validation_start);
      const auto metrics = evaluate(training_, *data, context(), [this](int64_t done) {
        state_.validation_batch = done;
        dispatch(Event::validation_batch_end);
        return !requests_.has_local_signal();
      });
      if (!metrics) break;
      remember(*metrics);
      lines.push_back(*metrics);
    }
    state_.validation_name.clear();
    state_.validation_batch = state_.validation_batches = 0;
    if (lines.size() < training_.validation.size() || lines.empty()) {
      averaged.restore();
      sync_now();  // share the signal that one of the ranks received
      return;
    }
    state_.validated_step = state_.step;
    // Only now: the resumed run repeats an interrupted validation.
    for (const NamedMetrics& line : lines) update_schedule(line);
    const NamedMetrics all = join(lines);
    dispatch(Event::validation_end, &all);
    take_scalars(lines.back());
    check_awaited_metrics();
    for (const NamedMetrics& line : lines) {
      record(LineKind::validation, line);
      // All ranks have the same metrics and get the same result.
      loop_.checkpoints.observe(line, state_.step);
    }
    averaged.restore();
    sync_now();
    loop_.validation_due.restart(requests_.time_s());
  }

  // After the first validation.
  void check_awaited_metrics() {
    if (training_.awaited_metrics.empty()) return;
    std::vector<std::string> names;
    for (const auto& [name, value] : state_.metrics) names.push_back(name);
    require_awaited_metrics(std::exchange(training_.awaited_metrics, {}), names);
  }

  // Passes the metrics of a validation or an epoch to the schedule.
  void update_schedule(const NamedMetrics& metrics) {
    const std::string* const monitored = training_.schedule.monitored_metric();
    for (const auto& [name, value] : metrics)
      if (monitored && name == *monitored) training_.schedule.observe(value);
  }

  void save_checkpoint() {
    const StepTimes::Pause pause(step_times_);
    const InStage stage(training_.times, Stage::checkpoint);
    requests_.take(Request::save);
    drain();
    // A rank that finds one reports it, and the next collective of the others throws its message.
    const std::vector<CheckedTensor> tensors = list_checked_tensors();
    if (const CheckedTensor* const bad = find_non_finite(tensors))
      throw support::Error(support::ErrorKind::non_finite,
                           training_.plan->model.place + ": " + bad->name + " holds NaN or infinity after step " +
                               std::to_string(state_.step) + "; expected finite numbers: " + bad->advice +
                               "; no checkpoint of this step is saved");
    check_ranks(training_);
    write_checkpoint();
  }

  // What a checkpoint would hold: the tensors of the model, their averages, and the states of the optimizer.
  std::vector<CheckedTensor> list_checked_tensors() {
    const std::string lower = "lower optimizer.lr";
    std::vector<CheckedTensor> tensors;
    for (const components::NamedTensor& named : training_.stored_tensors())
      tensors.push_back({named.name, named.tensor, infinite_buffers_.contains(named.name),
                         named.trainable ? lower : "look for samples that are not finite"});
    if (training_.plan->train.average && training_.average->count() > 0)
      for (const optimization::NamedTensor& one : training_.average->weights_outside_model())
        tensors.push_back({"the average of " + one.name, one.tensor, infinite_buffers_.contains(one.name), lower});
    for (const optimization::NamedTensor& one : training_.optimizer->state())
      tensors.push_back({"the optimizer state " + one.name, one.tensor, false, lower});
    return tensors;
  }

  void write_checkpoint() {
    dispatch(Event::checkpoint_before);
    sync_now();  // so that the checkpoint contains the latest requests
    {
      const SavedState saved = save_state();
      AveragedWeights averaged(training_.average.get());
      recorder_.save_checkpoint(state_, training_.stored_tensors(), saved);
      training_.group->barrier_without_limit();  // disks may be slow
      averaged.restore();
    }
    loop_.checkpoints.set_saved(state_.step);
    record(LineKind::checkpoint, {});
    dispatch(Event::checkpoint_after);
    sync_now();  // all ranks continue once the checkpoint is written
    loop_.checkpoints.restart(requests_.time_s());
  }

  // Every rank has a recorder; only rank 0 writes files.
  template <class Work>
  void first_then_others(const Work& work) {
    training_.group->rank0_first(work);
    if (state_.rank > 0) work();
  }

  // The last metrics and checkpoint of a run must belong to its last weights.
  void finish() {
    const bool validates = training_.plan->validation.every.unit != config::Period::Unit::never;
    if (validates && state_.validated_step != state_.step && requests_.signal() == 0) validate();
    if (!loop_.checkpoints.has_saved(state_.step) || loop_.checkpoints.has_unsaved_best()) save_checkpoint();
  }

  BestCheckpoint put_best_weights() {
    BestCheckpoint best;
    first_then_others([&] { best = recorder_.read_best_checkpoint(); });
    put_weights(training_.model, training_.plan->model, best.model, best.excluded);
    return best;
  }

  // Loads the best weights of the run, which are used after its end.
  void load_best() {
    const BestCheckpoint best = put_best_weights();
    for (const auto& [name, value] : best.metrics) state_.metrics[name] = value;
    dispatch(Event::checkpoint_loaded);
  }

  // Evaluates the test data with the best weights, or with the last ones if there are no best ones. The model keeps its
  // weights, and the observers see no events, and the values only at run_end, after which nothing can change: nothing
  // that the test data show can affect the run. A signal stops the run without values; the resumed run evaluates the
  // test data.
  void test() {
    const InStage stage(training_.times, Stage::test);
    sync_now();  // all ranks see the same signal
    TestResults results{{}, state_.epoch, state_.step, ""};
    const bool has_best = loop_.checkpoints.best().has_value();
    std::optional<KeptWeights> before;
    if (has_best) {
      before.emplace(training_.model);
      const BestCheckpoint best = put_best_weights();
      results.epoch = best.epoch;
      results.step = best.step;
      results.monitor = training_.monitor->metric;
    }
    AveragedWeights averaged(has_best ? nullptr : training_.average.get());
    components::StepContext of_weights = context();
    of_weights.epoch = results.epoch;
    of_weights.step = results.step;
    std::vector<NamedMetrics> lines;
    for (const auto& data : training_.test) {
      if (requests_.signal() != 0) break;
      auto metrics = evaluate(training_, training_.test_metrics, *data, of_weights,
                              [this](int64_t) { return !requests_.has_local_signal(); });
      if (!metrics) break;
      results.metrics.insert(results.metrics.end(), metrics->begin(), metrics->end());
      lines.push_back(std::move(*metrics));
    }
    averaged.restore();
    if (before) before->restore();
    sync_now();  // share the signal that one of the ranks received
    if (lines.size() < training_.test.size()) return stop_before_test();
    update_time();
    for (const NamedMetrics& line : lines) record(LineKind::test, line);
    report_.test = std::move(results);
  }

  void stop_before_test() {
    const std::optional<StopRequest> stop = requests_.stop();
    TENON_CHECK(stop && stop->signal != 0, "the test data were not evaluated, and there is no signal");
    report_.end = RunReport::End::stopped;
    report_.signal = stop->signal;
    report_.reason = stop->reason;
    state_.stop_signal = stop->signal;
    if (state_.rank == 0) support::log_info("the test data were not evaluated; they will be if the run resumes");
  }

  // Saves the progress of a failed run if the weights are finite: the weights of the last step, and for a single
  // process that could not read its data also the state needed for resuming. Nothing is saved if the weights are
  // divided over the ranks, which cannot communicate any more.
  void save_after_failure() noexcept {
    if (phase_ == Phase::updating || loop_.checkpoints.has_saved(state_.step) || state_.step == 0) return;
    if (training_.parameter_shards) return;
    try {
      const bool is_between_steps = phase_ == Phase::reading_between_steps;
      if (is_between_steps) drain();
      const SavedState saved = is_between_steps && training_.group->is_single() ? save_state() : SavedState();
      if (training_.average && training_.average->needs_all_processes()) return;
      const AveragedWeights averaged(training_.average.get());
      if (find_non_finite(list_checked_tensors())) return;
      recorder_.save_checkpoint(state_, training_.model.tensors(), saved);
      record(LineKind::checkpoint, {});
    } catch (const std::exception& error) {
      support::log_warning(std::string("cannot save a checkpoint of the failed run: ") + error.what());
    }
  }

  void end_after_failure(const std::string& error) {
    state_.error = error;
    dispatch_to_all(Event::run_exception);
    dispatch_to_all(Event::run_teardown);
  }

  NamedMetrics epoch_metrics() {
    NamedMetrics metrics = loop_.metrics(loop_.epoch_losses);
    for (const auto& value : training_metrics()) metrics.push_back(value);
    const data::Feed& feed = training_.train->feed;
    training_.train->add_skipped(metrics, feed.may_skip() ? requests_.add_up(feed.skipped()) : 0);
    return metrics;
  }

  // Combining the states of all ranks changes them, so it is done once.
  const NamedMetrics& training_metrics() {
    if (loop_.epoch_metrics) return *loop_.epoch_metrics;
    training_.train_metrics.combine(*training_.group);
    training_.group->wait_for_device(training_.device);
    loop_.epoch_metrics = training_.train_metrics.compute("train/", context());
    return *loop_.epoch_metrics;
  }

  // An interrupted epoch gets no line in the history: it would look like a complete one.
  void end_epoch() {
    drain();
    if (state_.epoch == 1 && !is_stopping() && loop_.skipped_steps == 0) check_items(training_, loop_.epoch_losses);
    NamedMetrics metrics = epoch_metrics();
    remember(metrics);
    const bool records = has_whole_epoch() || !is_stopping();
    dispatch(Event::epoch_end, records ? &metrics : nullptr);
    if (records) {
      take_scalars(metrics);
      record(LineKind::epoch, metrics);
    }
    sync_now();
    take_stop();
    loop_.has_epoch_ended = records && state_.is_epoch_complete;
  }

  // Handles the first request to stop by ending the loop. A request in the last step is ignored, unless its validation
  // has been skipped.
  void take_stop() {
    const bool is_ignored = is_stopping() || (is_over() && !loop_.misses_validation);
    const std::optional<StopRequest> stop = is_ignored ? std::nullopt : requests_.stop();
    if (!stop) return;
    report_.end = RunReport::End::stopped;
    report_.signal = stop->signal;
    report_.reason = stop->reason;
    state_.stop_signal = stop->signal;
    dispatch(Event::stop_requested);
  }

  bool is_stopping() const { return report_.end == RunReport::End::stopped; }

  // Called between two steps, by all ranks.
  SavedState save_state() { return save_run({training_, loop_, step_, requests_, observers_}, is_stopping()); }

  void load_state(const Checkpoint& resumed) {
    load_run({training_, loop_, step_, requests_, observers_}, resumed.model, resumed.excluded, resumed.state);
    start_ = std::chrono::steady_clock::now() - std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                    std::chrono::duration<double>(state_.time_s));
    step_times_.restart(state_.step);
  }

  void dispatch(Event event) {
    update_time();
    state_.host_waits = step_.readback().waits() + CountWaits::total() - first_wait_;
    state_.graph_replays = step_.graph_replays();
    dispatcher_.dispatch(event, state_, requests_.of_callbacks());
  }

  // Dispatches an event that adds these values to the history; null: none.
  void dispatch(Event event, const NamedMetrics* values) {
    const EventValues shown(state_, values);
    dispatch(event);
  }

  double elapsed_s() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  void update_time() {
    state_.time_s = elapsed_s();
    state_.data_wait_s = training_.times.seconds(Stage::data);
  }

  // Used at the end of a run. A failing observer must not hide the run's result or skip the other observers.
  void dispatch_to_all(Event event) {
    dispatcher_.dispatch_to_all(event, state_, requests_.of_callbacks(),
                                [](const std::exception& error) { support::log_warning(error.what()); });
  }

  void record(LineKind kind, const NamedMetrics& metrics) {
    const InStage stage(training_.times, Stage::history);
    recorder_.record(kind, state_, metrics);
  }

  void remember(const NamedMetrics& metrics) {
    for (const auto& [name, value] : metrics) state_.metrics[name] = value;
  }

  void take_scalars(NamedMetrics& metrics) {
    for (const auto& [name, value] : requests_.take_scalars()) {
      state_.metrics[name] = value;
      metrics.emplace_back(name, value);
    }
  }

  void record_remaining_scalars() {
    NamedMetrics metrics;
    take_scalars(metrics);
    if (!metrics.empty()) record(LineKind::step, metrics);
  }

  components::StepContext context() const {
    components::StepContext context{true,        state_.step,       state_.epoch,
                                    state_.rank, state_.world_size, training_.plan->run.seed};
    context.checkpoints_activations = training_.plan->train.activation_checkpointing;
    context.observer = training_.parameter_shards.get();
    return context;
  }

  // What the training thread does.
  enum class Phase {
    computing,
    reading_between_steps,  // waits for the first batch of a step
    updating                // between optimizer_before and the end of the step, while the weights are inconsistent
  };

  Training& training_;
  const std::vector<Observer*>& observers_;
  EventDispatcher dispatcher_;
  StepTimes step_times_;
  Recorder& recorder_;
  bool is_resumed_;
  std::optional<Checkpoint> resumed_;  // until it is loaded
  LoopState loop_;
  RunState& state_ = loop_.run;
  Requests requests_;
  int64_t step_samples_ = 0;  // of this rank
  int64_t first_wait_ = CountWaits::total();
  TrainStep step_;
  FirstLossCheck first_loss_check_;
  optimization::StepRates rates_;  // of the current step
  RunReport report_;
  Phase phase_ = Phase::computing;
  std::set<std::string> infinite_buffers_;  // from the start of the run on
  bool has_started_step_ = false;           // and not ended it
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
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
