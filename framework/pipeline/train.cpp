#include "framework/pipeline/train.h"

#include <chrono>
#include <cstring>

#include "framework/pipeline/agreement.h"
#include "framework/pipeline/check_finite.h"
#include "framework/pipeline/check_ranks.h"
#include "framework/pipeline/choose_memory_format.h"
#include "framework/pipeline/evaluate.h"
#include "framework/pipeline/loop_state.h"
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

// REQUIRES: an exception is being handled.
std::string describe_current_exception() {
  try {
    throw;
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

// The training loop and its state. The order of events is documented at the top of tenon/callback.h.
class Loop {
 public:
  Loop(Training& training, const std::vector<Observer*>& observers, Recorder& recorder, const SignalRequests& signals,
       const Checkpoint* resumed)
      : training_(training),
        observers_(observers),
        announcer_(observers, training.times = StageTimes()),
        recorder_(recorder),
        signals_(signals),
        resumed_(resumed),
        loop_(training),
        agreement_(training.group),
        step_(
            training,
            [this](Event event) {
              is_updating_ = is_updating_ || event == Event::optimizer_before;
              announce(event);
            },
            [this](const StepFigures& figures) { loop_.take(figures); }) {
    state_.folder = recorder.folder().string();
    state_.read_epoch_loss = [this] { return loop_.epoch_meter.total(); };
  }

  RunReport run() {
    try {
      announce(Event::run_setup);
      start_ = std::chrono::steady_clock::now();
      announce(Event::run_start);
      if (resumed_) load_state();
      check_ranks(training_);
      if (resumed_ || !training_.plan->model.weights.empty()) announce(Event::checkpoint_loaded);
      if (resumed_)
        go_on();
      else
        begin();
      while (!is_over()) run_epoch();
      finish();
      if (training_.plan->checkpoint.load_best_at_end && report_.signal == 0) load_best();
      announce(Event::run_end);
      record_remaining_scalars();
    } catch (...) {
      state_.error = describe_current_exception();
      save_after_failure();
      announce_to_all(Event::run_exception);
      announce_to_all(Event::run_teardown);
      throw;
    }
    announce_to_all(Event::run_teardown);
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
  void go_on() {
    record(LineKind::checkpoint, {});
    announce(Event::checkpoint_after);
    loop_.checkpoint_due.restart(now());
    take_stop();
    if (state_.epoch == 0 || loop_.has_epoch_ended) return;
    use_what_epoch_has();
    // With another number of ranks, the number of batches differs.
    if (state_.is_epoch_complete) loop_.batches_in_epoch = training_.train->feed.batches();
    training_.train->feed.start(state_.epoch, loop_.batches_in_epoch, loop_.skipped_in_epoch);
    finish_epoch();
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
    announce(Event::epoch_start);
    training_.train->feed.start(state_.epoch);
    finish_epoch();
  }

  // Switches to the data and the trainable parameters of the epoch.
  void use_what_epoch_has() {
    training_.use_data_of_epoch(state_.epoch);
    training_.optimizer->start_epoch(state_.epoch);
    step_.start_epoch();
  }

  // Continues from the current position of the feed.
  void finish_epoch() {
    data::Feed& feed = training_.train->feed;
    while (loop_.batches_in_epoch < feed.batches() && !is_over()) {
      is_between_steps_ = !step_.has_batches();
      const data::Batch* batch = next_batch(feed);  // null if only other ranks have a share
      is_between_steps_ = false;
      state_.is_epoch_complete = ++loop_.batches_in_epoch == feed.batches();
      const bool is_last = loop_.batches_in_epoch % training_.plan->train.accumulate == 0 || state_.is_epoch_complete;
      const int64_t samples = batch ? batch->size : 0;
      step_samples_ += samples;
      if (is_last && training_.group) propose();
      if (samples > 0)
        add_to_step(*batch, is_last);
      else if (is_last && training_.group)
        add_nothing_to_step();
      if (!is_last) continue;
      if (settle()) finish_step();
      after_step();
    }
    end_epoch();
  }

  const data::Batch* next_batch(data::Feed& feed) {
    const InStage stage(training_.times, Stage::data);
    return feed.next();
  }

  void add_to_step(const data::Batch& batch, bool is_last) {
    announce(Event::batch_fetched);
    if (!step_.has_batches()) start_step();
    step_.add(batch, position(), is_last);
    if (!training_.group) state_.samples_in_epoch += batch.size;
  }

  void add_nothing_to_step() {
    if (!step_.has_batches()) start_step();
    step_.add_nothing(position());
  }

  void start_step() {
    rates_ = training_.schedule.rates(state_.step);
    state_.learning_rate = rates_.learning_rate;
    announce(Event::step_start);
  }

  // With several ranks, requests are sent with the step's metrics, and all ranks handle them after the same step. A
  // single process reads its requests when it handles them.
  void propose() {
    agreement_.propose(ballot());
    forget_requests();
  }

  Ballot ballot() {
    update_time();
    return {verdict_.stop,
            verdict_.save || signals_.save.load(std::memory_order_relaxed),
            verdict_.evaluate,
            verdict_.log,
            signals_.stop.load(std::memory_order_relaxed),
            state_.time_s,
            step_samples_};
  }

  // Returns whether the step has samples. It has none if they could not be read.
  bool settle() {
    step_samples_ = 0;
    if (!training_.group) return step_.has_batches();
    const InStage stage(training_.times, Stage::processes);
    agreement_.settle();
    const int64_t samples = agreement_.agreed().samples;
    state_.samples_in_epoch += samples;
    if (samples == 0) step_.drop();
    return samples > 0;
  }

  // Adds the latest requests, at points where all ranks synchronize anyway.
  void agree_now() {
    if (!training_.group) return;
    const InStage stage(training_.times, Stage::processes);
    agreement_.agree_now(ballot());
    forget_requests();
  }

  void forget_requests() { verdict_.stop = verdict_.save = verdict_.evaluate = verdict_.log = false; }

  // The requests to handle.
  const Ballot& asked() {
    if (!training_.group) agreement_.agreed() = ballot();
    return agreement_.agreed();
  }

  void finish_step() {
    const bool with_norm = loop_.log_due.is_due_next(state_, now()) || state_.is_epoch_complete || asked().log;
    loop_.was_skipped = false;
    step_.finish(rates_, with_norm);
    is_updating_ = false;
    if (step_.first_loss() && !state_.first_loss) take_first_loss(*step_.first_loss());
    if (!loop_.was_skipped) {
      ++state_.step;
      ++state_.step_in_epoch;
      update_average();
    }
    announce(Event::step_end);
  }

  void take_first_loss(const FirstLoss& loss) {
    state_.first_loss = loss;
    support::log_info(describe(loss));
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
    if (logs || asked().log) log();
    if (state_.is_epoch_complete) {
      step_.drain();
      refuse_empty_epoch();
      const NamedFigures figures = epoch_figures();
      remember(figures);
      tell_schedule(figures);
    }
    // A signal stops the run after this step, without waiting for a validation.
    const bool validates = loop_.validation_due.now(state_, now());
    if ((validates || asked().evaluate) && asked().signal == 0) validate();
    const bool saves = loop_.checkpoint_due.now(state_, now());
    if (saves || asked().save || is_best_unsaved_) save_checkpoint();
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
    verdict_.log = agreement_.agreed().log = false;
    step_.drain();
    NamedFigures figures = loop_.figures(loop_.log_meter);
    loop_.log_meter.reset();
    remember(figures);
    announce(Event::log);
    take_scalars(figures);
    record(LineKind::step, figures);
    loop_.log_due.restart(now());
  }

  // Evaluates all sets and dispatches one validation_end at the end, so that its observers see the metrics of all sets.
  // A signal interrupts it without validation_end.
  void validate() {
    const InStage stage(training_.times, Stage::validation);
    verdict_.evaluate = agreement_.agreed().evaluate = false;
    step_.drain();
    const AveragedWeights averaged(training_.average.get());
    std::vector<NamedFigures> lines;
    for (const auto& data : training_.validation) {
      state_.validation_name = data->name();
      state_.validation_batch = 0;
      state_.validation_batches = data->feed.batches();
      announce(Event::validation_start);
      const auto figures = evaluate(training_, *data, position(), [this](int64_t done) {
        state_.validation_batch = done;
        announce(Event::validation_batch_end);
        return !has_signal();
      });
      if (!figures) break;
      remember(*figures);
      tell_schedule(*figures);
      lines.push_back(*figures);
    }
    state_.validation_name.clear();
    state_.validation_batch = state_.validation_batches = 0;
    if (lines.size() < training_.validation.size() || lines.empty()) {
      agree_now();  // share the signal that one of the ranks received
      return;
    }
    state_.validated_step = state_.step;
    announce(Event::validation_end);
    take_scalars(lines.back());
    for (const NamedFigures& line : lines) {
      record(LineKind::validation, line);
      // All ranks have the same metrics and get the same result.
      if (loop_.best && loop_.best->observe(line, state_.step)) is_best_unsaved_ = true;
    }
    agree_now();
    loop_.validation_due.restart(now());
  }

  // Passes the metrics of a validation or an epoch to the schedule.
  void tell_schedule(const NamedFigures& figures) {
    const std::string* const watched = training_.schedule.watched_figure();
    for (const auto& [name, value] : figures)
      if (watched && name == *watched) training_.schedule.observe(value);
  }

  void save_checkpoint() {
    const InStage stage(training_.times, Stage::checkpoint);
    verdict_.save = agreement_.agreed().save = is_best_unsaved_ = false;
    signals_.save.store(false, std::memory_order_relaxed);
    step_.drain();
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
    announce(Event::checkpoint_before);
    agree_now();  // so that the checkpoint contains the latest requests
    {
      const SavedState saved = save_state();
      const AveragedWeights averaged(training_.average.get());
      first_then_others([&] { recorder_.save_checkpoint(state_, training_.model.tensors(), saved); });
    }
    loop_.last_saved_step = state_.step;
    record(LineKind::checkpoint, {});
    announce(Event::checkpoint_after);
    agree_now();  // all ranks continue once the checkpoint is written
    loop_.checkpoint_due.restart(now());
  }

  // Every rank has a recorder; only rank 0 writes files.
  template <class Work>
  void first_then_others(const Work& work) {
    if (training_.group) training_.group->let_first_work(work);
    if (state_.rank > 0 || !training_.group) work();
  }

  // The last metrics and checkpoint of a run must belong to its last weights.
  void finish() {
    const bool validates = training_.plan->validation.every.unit != config::Period::Unit::never;
    if (validates && state_.validated_step != state_.step && asked().signal == 0) validate();
    if (loop_.last_saved_step != state_.step || is_best_unsaved_) save_checkpoint();
  }

  // Loads the best weights of the run, which are used after its end.
  void load_best() {
    BestCheckpoint best;
    first_then_others([&] { best = recorder_.read_best_checkpoint(); });
    put_weights(training_.model, best.model);
    for (const auto& [name, value] : best.figures) state_.figures[name] = value;
    announce(Event::checkpoint_loaded);
  }

  // Saves the progress of a failed run if the weights are finite: the weights of the last step, and for a single
  // process that could not read its data also the state needed for resuming.
  void save_after_failure() noexcept {
    if (is_updating_ || loop_.last_saved_step >= state_.step || state_.step == 0) return;
    try {
      if (is_between_steps_) step_.drain();
      const SavedState saved = is_between_steps_ && !training_.group ? save_state() : SavedState();
      const AveragedWeights averaged(training_.average.get());
      if (!find_non_finite(training_.model.tensors(), /*only_trainable=*/false).empty()) return;
      recorder_.save_checkpoint(state_, training_.model.tensors(), saved);
      record(LineKind::checkpoint, {});
    } catch (const std::exception& error) {
      support::log_warning(std::string("cannot save a checkpoint of the failed run: ") + error.what());
    }
  }

  NamedFigures epoch_figures() {
    NamedFigures figures = loop_.figures(loop_.epoch_meter);
    const data::Feed& feed = training_.train->feed;
    const bool is_of_all = !training_.group || !feed.may_skip();
    training_.train->add_skipped(figures, is_of_all ? feed.skipped() : agreement_.add_up(feed.skipped()));
    return figures;
  }

  // An interrupted epoch gets no line in the history: it would look like a complete one.
  void end_epoch() {
    step_.drain();
    NamedFigures figures = epoch_figures();
    remember(figures);
    announce(Event::epoch_end);
    if (state_.is_epoch_complete || !stopping_) {
      take_scalars(figures);
      record(LineKind::epoch, figures);
    }
    agree_now();
    take_stop();
    loop_.has_epoch_ended = state_.is_epoch_complete;
  }

  // Handles the first request to stop by ending the loop. A request in the last step is ignored.
  void take_stop() {
    const auto [stop, signal] = std::pair(asked().stop, asked().signal);
    if (is_over() || (!stop && signal == 0)) return;
    stopping_ = true;
    report_.end = RunReport::End::stopped;
    report_.signal = signal;
    report_.reason = signal != 0                ? std::string("signal ") + strsignal(signal)
                     : !verdict_.reason.empty() ? verdict_.reason
                                                : "requested by a callback of another rank";
    announce(Event::stop_requested);
  }

  // Called between two steps, by all ranks.
  SavedState save_state() {
    SavedState saved;
    const Ballot requests = asked();
    saved.numbers["asked.evaluate"] = requests.evaluate;
    saved.numbers["asked.log"] = requests.log;
    saved.numbers["asked.save"] = requests.save;
    saved.numbers["asked.stop"] = requests.stop && !stopping_;  // a stop request that was handled is not saved
    for (const auto& [name, value] : verdict_.scalars) saved.numbers[kScalar + name] = value;
    loop_.save(saved);
    step_.save(saved);
    OwnState own{{"reason", verdict_.reason}, {"skipped", std::to_string(training_.train->feed.skipped())}};
    visit_states([&](const std::string& name, Observer&, std::string bytes) { own[name] = std::move(bytes); });
    save_training(training_, own, saved);
    return saved;
  }

  void load_state() {
    const SavedState& saved = resumed_->state;
    const OwnState own = load_training(training_, resumed_->model, saved);
    loop_.load(saved);
    step_.load(saved);
    start_ = std::chrono::steady_clock::now() - std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                    std::chrono::duration<double>(state_.time_s));
    Ballot& asked = agreement_.agreed();
    asked.time_s = state_.time_s;
    // With several ranks the agreed requests are restored, in a single process the local ones.
    (training_.group ? asked.evaluate : verdict_.evaluate) = saved.count("asked.evaluate") != 0;
    (training_.group ? asked.log : verdict_.log) = saved.count("asked.log") != 0;
    (training_.group ? asked.save : verdict_.save) = saved.count("asked.save") != 0;
    (training_.group ? asked.stop : verdict_.stop) = saved.count("asked.stop") != 0;
    for (const auto& [name, value] : saved.numbers)
      if (name.starts_with(kScalar) && state_.rank == 0) verdict_.scalars[name.substr(kScalar.size())] = value;
    if (own.empty()) return;  // a rank that the saved run did not have
    verdict_.reason = own.at("reason");
    loop_.skipped_in_epoch = std::stoll(own.at("skipped"));
    visit_states([&](const std::string& name, Observer& observer, const std::string&) {
      if (const auto found = own.find(name); found != own.end()) observer.load_state(found->second);
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

  void announce(Event event) {
    update_time();
    state_.host_waits = step_.readback().waits();
    announcer_.announce(event, state_, verdict_);
  }

  void update_time() {
    state_.time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    state_.data_wait_s = training_.times.seconds(Stage::data);
  }

  // With several ranks, rank 0's clock.
  double now() {
    if (training_.group) return agreement_.agreed().time_s;
    update_time();
    return state_.time_s;
  }

  // Used at the end of a run. A failing observer must not hide the run's result or skip the other observers.
  void announce_to_all(Event event) {
    announcer_.announce_to_all(event, state_, verdict_,
                               [](const std::exception& error) { support::log_warning(error.what()); });
  }

  void record(LineKind kind, const NamedFigures& figures) {
    const InStage stage(training_.times, Stage::history);
    recorder_.record(kind, state_, figures);
  }

  void remember(const NamedFigures& figures) {
    for (const auto& [name, value] : figures) state_.figures[name] = value;
  }

  void take_scalars(NamedFigures& figures) {
    for (const auto& [name, value] : verdict_.scalars) {
      state_.figures[name] = value;
      figures.emplace_back(name, value);
    }
    verdict_.scalars.clear();
  }

  void record_remaining_scalars() {
    if (verdict_.scalars.empty()) return;
    NamedFigures figures;
    take_scalars(figures);
    record(LineKind::step, figures);
  }

  plugins::RunPosition position() const {
    plugins::RunPosition position{true,        state_.step,       state_.epoch,
                                  state_.rank, state_.world_size, training_.plan->run.seed};
    position.checkpoints_activations = training_.plan->train.activation_checkpointing;
    return position;
  }

  Training& training_;
  const std::vector<Observer*>& observers_;
  Announcer announcer_;
  Recorder& recorder_;
  const SignalRequests& signals_;
  const Checkpoint* resumed_;  // null: a new run
  LoopState loop_;
  RunState& state_ = loop_.run;
  Agreement agreement_;
  int64_t step_samples_ = 0;  // of this rank
  TrainStep step_;
  optimization::StepRates rates_;  // of the current step
  Verdict verdict_;
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
