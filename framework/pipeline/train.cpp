#include "framework/pipeline/train.h"

#include <chrono>
#include <cstring>

#include "framework/pipeline/check_finite.h"
#include "framework/pipeline/check_ranks.h"
#include "framework/pipeline/choose_memory_format.h"
#include "framework/pipeline/count_waits.h"
#include "framework/pipeline/device_error.h"
#include "framework/pipeline/device_memory.h"
#include "framework/pipeline/evaluate.h"
#include "framework/pipeline/loop_state.h"
#include "framework/pipeline/request_sync.h"
#include "framework/pipeline/self_check.h"
#include "framework/pipeline/train_step.h"
#include "framework/pipeline/training_state.h"
#include "framework/support/error.h"
#include "framework/support/log.h"

namespace tenon::pipeline {

namespace {

const std::string kScalar = "scalar.";

// The weights for evaluation and checkpoints.
using AveragedWeights = optimization::WeightAverage::InPlace;

// The training loop and its state. The order of events is documented at the top of tenon/callback.h.
class Loop {
 public:
  Loop(Training& training, const std::vector<Observer*>& observers, Recorder& recorder, const SignalRequests& signals,
       const Checkpoint* resumed)
      : training_(training),
        observers_(observers),
        dispatcher_(observers, training.times = StageTimes()),
        recorder_(recorder),
        signals_(signals),
        resumed_(resumed),
        loop_(training),
        request_sync_(training.group),
        step_(
            training,
            [this](Event event) {
              is_updating_ = is_updating_ || event == Event::optimizer_before;
              dispatch(event);
            },
            [this](const StepMetrics& metrics) { loop_.take(metrics); }) {
    state_.folder = recorder.folder().string();
    state_.read_epoch_loss = [this] { return loop_.epoch_meter.total(); };
  }

  RunReport run() {
    try {
      dispatch(Event::run_setup);
      start_ = std::chrono::steady_clock::now();
      reset_peak_memory(training_.device);
      dispatch(Event::run_start);
      if (resumed_) load_state();
      check_ranks(training_);
      if (resumed_ || !training_.plan->model.weights.empty()) dispatch(Event::checkpoint_loaded);
      if (resumed_)
        should_continue();
      else
        begin();
      while (!is_over()) run_epoch();
      finish();
      if (training_.plan->checkpoint.load_best_at_end && report_.signal == 0) load_best();
      dispatch(Event::run_end);
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
    if (loop_.best && !loop_.best->best().empty()) report_.best = loop_.best->best().front();
    report_.stages = training_.times.list();
    report_.memory_format = training_.memory_format;
    return std::move(report_);
  }

 private:
  // A run limited by epochs finishes its last epoch, even if unreadable batches leave it with fewer steps.
  bool is_over() const {
    if (stopping_ || state_.step >= state_.total_steps) return true;
    return training_.plan->train.epochs > 0 && state_.epoch == state_.total_epochs && state_.is_epoch_complete;
  }

  void begin() {
    choose_memory_format(training_);
    check_precision(training_);
    if (!training_.plan->validation.at_start) return;
    validate();
    if (is_best_unsaved_) save_checkpoint();
    take_stop();
  }

  // Continues after the checkpoint of load_state(): in its epoch, unless that epoch had ended.
  void should_continue() {
    record(LineKind::checkpoint, {});
    dispatch(Event::checkpoint_after);
    loop_.checkpoint_due.restart(now());
    take_stop();
    if (state_.epoch == 0 || loop_.has_epoch_ended) return;
    use_what_epoch_has();
    // With another number of ranks, the number of batches differs.
    if (state_.is_epoch_complete) loop_.batches_in_epoch = training_.train->feed.batches();
    training_.train->feed.start(state_.epoch, loop_.batches_in_epoch, loop_.skipped_in_epoch);
    run_steps();
  }

  void run_epoch() {
    ++state_.epoch;
    state_.step_in_epoch = 0;
    state_.samples_in_epoch = 0;
    state_.is_epoch_complete = false;
    loop_.has_epoch_ended = false;
    loop_.batches_in_epoch = 0;
    loop_.epoch_meter.reset();
    use_what_epoch_has();
    dispatch(Event::epoch_start);
    training_.train->feed.start(state_.epoch);
    run_steps();
  }

  // Switches to the data and the trainable parameters of the epoch.
  void use_what_epoch_has() {
    training_.use_data_of_epoch(state_.epoch);
    training_.optimizer->start_epoch(state_.epoch);
    step_.start_epoch();
  }

  // Continues from the current position of the feed.
  void run_steps() {
    data::Feed& feed = training_.train->feed;
    while (loop_.batches_in_epoch < feed.batches() && !is_over()) {
      is_between_steps_ = !step_.has_batches();
      const data::Batch* batch = next_batch(feed);  // null if only other ranks have a share
      is_between_steps_ = false;
      state_.is_epoch_complete = ++loop_.batches_in_epoch == feed.batches();
      const bool is_last = loop_.batches_in_epoch % training_.plan->train.accumulate == 0 || state_.is_epoch_complete;
      const int64_t samples = batch ? batch->size : 0;
      step_samples_ += samples;
      if (is_last && training_.group) start_sync();
      if (samples > 0)
        add_to_step(*batch, is_last);
      else if (is_last && training_.group)
        join_step_without_batch();
      if (!is_last) continue;
      if (finish_sync()) finish_step();
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
    if (!step_.has_batches()) start_step();
    step_.add(batch, context(), is_last);
    if (!training_.group) state_.samples_in_epoch += batch.size;
  }

  void join_step_without_batch() {
    if (!step_.has_batches()) start_step();
    step_.join_without_batch(context());
  }

  void start_step() {
    rates_ = training_.schedule.rates(state_.step);
    state_.learning_rate = rates_.learning_rate;
    dispatch(Event::step_start);
  }

  // With several ranks, requests are sent with the step's metrics, and all ranks handle them after the same step. A
  // single process reads its requests when it handles them.
  void start_sync() {
    request_sync_.start_sync(local_requests());
    forget_requests();
  }

  LoopRequests local_requests() {
    update_time();
    return {requests_.stop,
            requests_.save || signals_.save.load(std::memory_order_relaxed),
            requests_.evaluate,
            requests_.log,
            signals_.stop.load(std::memory_order_relaxed),
            state_.time_s,
            step_samples_};
  }

  // Returns whether the step has samples. It has none if they could not be read.
  bool finish_sync() {
    step_samples_ = 0;
    if (!training_.group) return step_.has_batches();
    const InStage stage(training_.times, Stage::processes);
    request_sync_.finish_sync();
    const int64_t samples = request_sync_.synced().samples;
    state_.samples_in_epoch += samples;
    if (samples == 0) step_.drop();
    return samples > 0;
  }

  // Adds the latest requests, at points where all ranks synchronize anyway.
  void sync_now() {
    if (!training_.group) return;
    const InStage stage(training_.times, Stage::processes);
    request_sync_.sync_now(local_requests());
    forget_requests();
  }

  void forget_requests() { requests_.stop = requests_.save = requests_.evaluate = requests_.log = false; }

  // The requests to handle.
  const LoopRequests& requested() {
    if (!training_.group) request_sync_.synced() = local_requests();
    return request_sync_.synced();
  }

  void finish_step() {
    const bool with_norm = loop_.log_due.is_due_next(state_, now()) || state_.is_epoch_complete || requested().log;
    step_.finish(rates_, with_norm);
    is_updating_ = false;
    take_first_loss();
    ++state_.step;
    ++state_.step_in_epoch;
    update_average();
    dispatch(Event::step_end);
  }

  // Waits for the results of all steps.
  void drain() {
    step_.drain();
    take_first_loss();
  }

  // On a device it arrives after the step.
  void take_first_loss() {
    if (state_.first_loss || !step_.first_loss()) return;
    state_.first_loss = step_.first_loss();
    support::log_info(describe(*state_.first_loss));
  }

  void update_average() {
    if (!training_.average) return;
    const config::Period& start = training_.plan->train.average->start;
    const double passed =
        static_cast<double>(start.unit == config::Period::Unit::epochs ? state_.epoch - 1 : state_.step - 1);
    const bool has_begun = start.unit == config::Period::Unit::never || passed >= start.count;
    if (!loop_.average_due->now(state_, now()) || !has_begun) return;
    const InStage stage(training_.times, Stage::optimizer);
    training_.average->update();
  }

  // Runs the actions that are due. Observers called by one action may request a later one.
  void after_step() {
    const bool logs = loop_.log_due.now(state_, now());
    if (logs || requested().log) log();
    if (state_.is_epoch_complete) {
      drain();
      refuse_empty_epoch();
      const NamedMetrics metrics = epoch_metrics();
      remember(metrics);
      update_schedule(metrics);
    }
    // A signal stops the run after this step, without waiting for a validation.
    const bool validates = loop_.validation_due.now(state_, now());
    if ((validates || requested().evaluate) && requested().signal == 0) validate();
    const bool saves = loop_.checkpoint_due.now(state_, now());
    if (saves || requested().save || is_best_unsaved_) save_checkpoint();
    take_stop();
    // Save before leaving the epoch, because the resumed run continues in it.
    const bool is_cut_short = stopping_ && report_.signal != 0 && !state_.is_epoch_complete;
    if (is_cut_short && loop_.last_saved_step != state_.step) save_checkpoint();
  }

  // A single process gets this error from its feed.
  void refuse_empty_epoch() const {
    if (state_.samples_in_epoch > 0) return;
    throw support::Error(support::ErrorKind::data,
                         training_.train->name() +
                             ": no rank could read any of its samples, see the logs; expected data.on_error = "
                             "\"skip\" to leave at least one: fix the data");
  }

  bool has_signal() const { return signals_.stop.load(std::memory_order_relaxed) != 0; }

  void log() {
    requests_.log = request_sync_.synced().log = false;
    drain();
    NamedMetrics metrics = loop_.metrics(loop_.log_meter);
    loop_.log_meter.reset();
    remember(metrics);
    dispatch(Event::log);
    take_scalars(metrics);
    record(LineKind::step, metrics);
    loop_.log_due.restart(now());
  }

  // Evaluates all sets and dispatches one validation_end at the end, so that its observers see the metrics of all sets.
  // A signal interrupts it without validation_end.
  void validate() {
    const InStage stage(training_.times, Stage::validation);
    requests_.evaluate = request_sync_.synced().evaluate = false;
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
        return !has_signal();
      });
      if (!metrics) break;
      remember(*metrics);
      update_schedule(*metrics);
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
    dispatch(Event::validation_end);
    take_scalars(lines.back());
    for (const NamedMetrics& line : lines) {
      record(LineKind::validation, line);
      // All ranks have the same metrics and get the same result.
      if (loop_.best && loop_.best->observe(line, state_.step)) is_best_unsaved_ = true;
    }
    averaged.restore();
    sync_now();
    loop_.validation_due.restart(now());
  }

  // Passes the metrics of a validation or an epoch to the schedule.
  void update_schedule(const NamedMetrics& metrics) {
    const std::string* const monitored = training_.schedule.monitored_metric();
    for (const auto& [name, value] : metrics)
      if (monitored && name == *monitored) training_.schedule.observe(value);
  }

  void save_checkpoint() {
    const InStage stage(training_.times, Stage::checkpoint);
    requests_.save = request_sync_.synced().save = is_best_unsaved_ = false;
    signals_.save.store(false, std::memory_order_relaxed);
    drain();
    const std::string bad = find_non_finite(training_.model.tensors(), /*only_trainable=*/true);
    if (!bad.empty())
      throw support::Error(support::ErrorKind::non_finite,
                           training_.plan->model.place + ": " + bad + " holds NaN or infinity after step " +
                               std::to_string(state_.step) +
                               "; expected finite weights: lower optimizer.lr; they are not saved");
    check_ranks(training_);
    write_checkpoint();
  }

  void write_checkpoint() {
    dispatch(Event::checkpoint_before);
    sync_now();  // so that the checkpoint contains the latest requests
    {
      const SavedState saved = save_state();
      AveragedWeights averaged(training_.average.get());
      first_then_others([&] { recorder_.save_checkpoint(state_, training_.model.tensors(), saved); });
      averaged.restore();
    }
    loop_.last_saved_step = state_.step;
    record(LineKind::checkpoint, {});
    dispatch(Event::checkpoint_after);
    sync_now();  // all ranks continue once the checkpoint is written
    loop_.checkpoint_due.restart(now());
  }

  // Every rank has a recorder; only rank 0 writes files.
  template <class Work>
  void first_then_others(const Work& work) {
    if (training_.group) training_.group->rank0_first(work);
    if (state_.rank > 0 || !training_.group) work();
  }

  // The last metrics and checkpoint of a run must belong to its last weights.
  void finish() {
    const bool validates = training_.plan->validation.every.unit != config::Period::Unit::never;
    if (validates && state_.validated_step != state_.step && requested().signal == 0) validate();
    if (loop_.last_saved_step != state_.step || is_best_unsaved_) save_checkpoint();
  }

  // Loads the best weights of the run, which are used after its end.
  void load_best() {
    BestCheckpoint best;
    first_then_others([&] { best = recorder_.read_best_checkpoint(); });
    put_weights(training_.model, best.model);
    for (const auto& [name, value] : best.metrics) state_.metrics[name] = value;
    dispatch(Event::checkpoint_loaded);
  }

  // Saves the progress of a failed run if the weights are finite: the weights of the last step, and for a single
  // process that could not read its data also the state needed for resuming.
  void save_after_failure() noexcept {
    if (is_updating_ || loop_.last_saved_step >= state_.step || state_.step == 0) return;
    try {
      if (is_between_steps_) drain();
      const SavedState saved = is_between_steps_ && !training_.group ? save_state() : SavedState();
      const AveragedWeights averaged(training_.average.get());
      if (!find_non_finite(training_.model.tensors(), /*only_trainable=*/false).empty()) return;
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
    NamedMetrics metrics = loop_.metrics(loop_.epoch_meter);
    const data::Feed& feed = training_.train->feed;
    const bool is_of_all = !training_.group || !feed.may_skip();
    training_.train->add_skipped(metrics, is_of_all ? feed.skipped() : request_sync_.add_up(feed.skipped()));
    return metrics;
  }

  // An interrupted epoch gets no line in the history: it would look like a complete one.
  void end_epoch() {
    drain();
    NamedMetrics metrics = epoch_metrics();
    remember(metrics);
    dispatch(Event::epoch_end);
    if (state_.is_epoch_complete || !stopping_) {
      take_scalars(metrics);
      record(LineKind::epoch, metrics);
    }
    sync_now();
    take_stop();
    loop_.has_epoch_ended = state_.is_epoch_complete;
  }

  // Handles the first request to stop by ending the loop. A request in the last step is ignored.
  void take_stop() {
    const auto [stop, signal] = std::pair(requested().stop, requested().signal);
    if (is_over() || (!stop && signal == 0)) return;
    stopping_ = true;
    report_.end = RunReport::End::stopped;
    report_.signal = signal;
    report_.reason = signal != 0                 ? std::string("signal ") + strsignal(signal)
                     : !requests_.reason.empty() ? requests_.reason
                                                 : "requested by a callback of another rank";
    dispatch(Event::stop_requested);
  }

  // Called between two steps, by all ranks.
  SavedState save_state() {
    SavedState saved;
    const LoopRequests requests = requested();
    saved.numbers["requested.evaluate"] = requests.evaluate;
    saved.numbers["requested.log"] = requests.log;
    saved.numbers["requested.save"] = requests.save;
    saved.numbers["requested.stop"] = requests.stop && !stopping_;  // a stop request that was handled is not saved
    for (const auto& [name, value] : requests_.scalars) saved.numbers[kScalar + name] = value;
    loop_.save(saved);
    step_.save(saved);
    RankState states{{"reason", requests_.reason}, {"skipped", std::to_string(training_.train->feed.skipped())}};
    visit_states([&](const std::string& name, Observer&, std::string bytes) { states[name] = std::move(bytes); });
    save_training(training_, states, saved);
    return saved;
  }

  void load_state() {
    const SavedState& saved = resumed_->state;
    const RankState states = load_training(training_, resumed_->model, saved);
    loop_.load(saved);
    step_.load(saved);
    start_ = std::chrono::steady_clock::now() - std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                    std::chrono::duration<double>(state_.time_s));
    LoopRequests& requested = request_sync_.synced();
    requested.time_s = state_.time_s;
    // With several ranks the combined requests are restored, in a single process the local ones.
    (training_.group ? requested.evaluate : requests_.evaluate) = saved.count("requested.evaluate") != 0;
    (training_.group ? requested.log : requests_.log) = saved.count("requested.log") != 0;
    (training_.group ? requested.save : requests_.save) = saved.count("requested.save") != 0;
    (training_.group ? requested.stop : requests_.stop) = saved.count("requested.stop") != 0;
    for (const auto& [name, value] : saved.numbers)
      if (name.starts_with(kScalar) && state_.rank == 0) requests_.scalars[name.substr(kScalar.size())] = value;
    if (states.empty()) return;  // a rank that the saved run did not have
    requests_.reason = states.at("reason");
    loop_.skipped_in_epoch = std::stoll(states.at("skipped"));
    visit_states([&](const std::string& name, Observer& observer, const std::string&) {
      if (const auto found = states.find(name); found != states.end()) observer.load_state(found->second);
    });
  }

  // Visits the observers that have a state, with that state. The observers are the same on every rank.
  template <class Visit>
  void visit_states(Visit&& visit) {
    size_t number = 0;
    for (Observer* observer : observers_) {
      std::string bytes = observer->save_state();
      if (!bytes.empty()) visit("callback." + std::to_string(number++), *observer, std::move(bytes));
    }
  }

  void dispatch(Event event) {
    update_time();
    state_.host_waits = step_.readback().waits() + CountWaits::total() - first_wait_;
    state_.graph_replays = step_.graph_replays();
    dispatcher_.dispatch(event, state_, requests_);
  }

  void update_time() {
    state_.time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    state_.data_wait_s = training_.times.seconds(Stage::data);
  }

  // With several ranks, rank 0's clock.
  double now() {
    if (training_.group) return request_sync_.synced().time_s;
    update_time();
    return state_.time_s;
  }

  // Used at the end of a run. A failing observer must not hide the run's result or skip the other observers.
  void dispatch_to_all(Event event) {
    dispatcher_.dispatch_to_all(event, state_, requests_,
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
    for (const auto& [name, value] : requests_.scalars) {
      state_.metrics[name] = value;
      metrics.emplace_back(name, value);
    }
    requests_.scalars.clear();
  }

  void record_remaining_scalars() {
    if (requests_.scalars.empty()) return;
    NamedMetrics metrics;
    take_scalars(metrics);
    record(LineKind::step, metrics);
  }

  plugins::StepContext context() const {
    plugins::StepContext context{true,        state_.step,       state_.epoch,
                                 state_.rank, state_.world_size, training_.plan->run.seed};
    context.checkpoints_activations = training_.plan->train.activation_checkpointing;
    return context;
  }

  Training& training_;
  const std::vector<Observer*>& observers_;
  EventDispatcher dispatcher_;
  Recorder& recorder_;
  const SignalRequests& signals_;
  const Checkpoint* resumed_;  // null: a new run
  LoopState loop_;
  RunState& state_ = loop_.run;
  RequestSync request_sync_;
  int64_t step_samples_ = 0;  // of this rank
  int64_t first_wait_ = CountWaits::total();
  TrainStep step_;
  optimization::StepRates rates_;  // of the current step
  CallbackRequests requests_;
  RunReport report_;
  bool stopping_ = false;
  bool is_best_unsaved_ = false;   // the weights are among the best, and no checkpoint has them
  bool is_between_steps_ = false;  // a batch has been read and not yet used
  bool is_updating_ = false;  // between optimizer_before and the end of the step, while the weights are inconsistent
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

RunReport train(Training& training, const std::vector<Observer*>& observers, Recorder& recorder,
                const SignalRequests& signals, const Checkpoint* resumed) {
  try {
    return Loop(training, observers, recorder, signals, resumed).run();
  } catch (...) {
    if (training.group && training.group->lost()) throw support::Error(*training.group->lost());
    throw;
  }
}

}  // namespace tenon::pipeline
