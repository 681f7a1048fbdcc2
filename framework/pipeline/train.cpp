#include "framework/pipeline/train.h"

#include <chrono>
#include <cstring>

#include "framework/data/sampler.h"
#include "framework/pipeline/due.h"
#include "framework/pipeline/evaluate.h"
#include "framework/pipeline/loss_meter.h"
#include "framework/pipeline/train_step.h"

namespace tenon::pipeline {

namespace {

using Named = std::vector<std::pair<std::string, double>>;

// The state of the loop between its stages. The order of the events is that at the top of tenon/callback.h.
class Loop {
 public:
  Loop(Training& training, const std::vector<Observer*>& observers, Recorder& recorder,
       const std::atomic<int>& stop_signal)
      : training_(training),
        announcer_(observers),
        recorder_(recorder),
        stop_signal_(stop_signal),
        log_due_(training.plan->log.every),
        validation_due_(training.plan->validation.every),
        checkpoint_due_(training.plan->checkpoint.every),
        log_meter_(training.losses),
        epoch_meter_(training.losses),
        announce_([this](Event event) { announce(event); }) {
    state_.total_steps = training.total_steps;
    state_.steps_per_epoch = training.steps_per_epoch;
    state_.total_epochs = (training.total_steps + training.steps_per_epoch - 1) / training.steps_per_epoch;
    state_.learning_rate = training.schedule.learning_rate(0);
    state_.read_epoch_loss = [this] { return epoch_meter_.read_total(); };
    learn_directions();
  }

  RunReport run() {
    announce(Event::run_setup);
    try {
      start_ = std::chrono::steady_clock::now();
      announce(Event::run_start);
      if (!training_.plan->model.weights.empty()) announce(Event::checkpoint_loaded);
      if (training_.plan->validation.at_start) validate();
      while (!is_over()) run_epoch();
      if (last_saved_step_ != state_.step) save_checkpoint();
      announce(Event::run_end);
    } catch (...) {
      announce_failure();
      throw;
    }
    announce(Event::run_teardown);
    report_.state = state_;
    report_.state.read_epoch_loss = nullptr;  // it points into this loop
    return std::move(report_);
  }

 private:
  bool is_over() const { return stopping_ || state_.step >= state_.total_steps; }

  void run_epoch() {
    ++state_.epoch;
    state_.step_in_epoch = 0;
    state_.samples_in_epoch = 0;
    epoch_meter_.reset();
    announce(Event::epoch_start);
    DataFlow& data = *training_.train;
    const config::RunPlan& plan = *training_.plan;
    const int64_t size = data.dataset.size();
    data.loader.start(
        plan.data.shuffle ? data::shuffled_order(size, plan.run.seed, state_.epoch) : data::sequential_order(size),
        state_.epoch);
    while (!is_over()) {
      const data::Batch* batch = data.loader.next();
      if (!batch) break;
      announce(Event::batch_fetched);
      run_step(*batch);
      after_step();
    }
    record_epoch();
    announce(Event::epoch_end);
    take_stop();
  }

  void run_step(const data::Batch& batch) {
    state_.learning_rate = training_.schedule.learning_rate(state_.step);
    announce(Event::step_start);
    const auto results = train_step(training_, batch, position(), state_.learning_rate, announce_);
    ++state_.step;
    ++state_.step_in_epoch;
    state_.samples_in_epoch += batch.size;
    log_meter_.add(results);
    epoch_meter_.add(results);
    announce(Event::step_end);
  }

  // What happens at its times. Each stage may be asked for by the observers of an earlier one.
  void after_step() {
    if (log_due_.now(state_) || verdict_.log) log();
    if (validation_due_.now(state_) || verdict_.evaluate) validate();
    if (checkpoint_due_.now(state_) || verdict_.save) save_checkpoint();
    take_stop();
  }

  void log() {
    verdict_.log = false;
    Named figures{{"train/loss", log_meter_.read_total()}};
    for (const auto& [name, value] : log_meter_.read_parts()) figures.emplace_back("train/" + name, value);
    figures.emplace_back("train/learning_rate", state_.learning_rate);
    log_meter_.reset();
    remember(figures);
    announce(Event::log);
    take_scalars(figures);
    recorder_.record(LineKind::step, state_, figures);
  }

  void validate() {
    verdict_.evaluate = false;
    for (const auto& data : training_.validation) {
      state_.validation_name = data->dataset.name();
      state_.validation_batch = 0;
      state_.validation_batches = data->batches();
      announce(Event::validation_start);
      Named figures = evaluate(training_, *data, position(), [this](int64_t done) {
        state_.validation_batch = done;
        announce(Event::validation_batch_end);
      });
      remember(figures);
      announce(Event::validation_end);
      take_scalars(figures);
      recorder_.record(LineKind::validation, state_, figures);
    }
  }

  void save_checkpoint() {
    verdict_.save = false;
    announce(Event::checkpoint_before);
    recorder_.save_checkpoint(state_, training_.model.tensors());
    last_saved_step_ = state_.step;
    recorder_.record(LineKind::checkpoint, state_, {});
    announce(Event::checkpoint_after);
  }

  void record_epoch() {
    Named figures{{"train/loss", epoch_meter_.read_total()}};
    for (const auto& [name, value] : epoch_meter_.read_parts()) figures.emplace_back("train/" + name, value);
    figures.emplace_back("train/learning_rate", state_.learning_rate);
    remember(figures);
    recorder_.record(LineKind::epoch, state_, figures);
  }

  // Turns the first request to stop into the end of the loop.
  void take_stop() {
    const int signal = stop_signal_.load(std::memory_order_relaxed);
    if (stopping_ || (!verdict_.stop && signal == 0)) return;
    stopping_ = true;
    report_.end = RunReport::End::stopped;
    report_.signal = signal;
    report_.reason = signal != 0 ? std::string("signal ") + strsignal(signal) : verdict_.reason;
    announce(Event::stop_requested);
  }

  void announce(Event event) {
    state_.time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    announcer_.announce(event, state_, verdict_);
  }

  // The run's own error is the one to report; an observer that fails on top of it must not hide it.
  void announce_failure() noexcept {
    for (const Event event : {Event::run_exception, Event::run_teardown}) {
      try {
        announce(event);
      } catch (const std::exception&) {
      }
    }
  }

  void remember(const Named& figures) {
    for (const auto& [name, value] : figures) state_.figures[name] = value;
  }

  void take_scalars(Named& figures) {
    remember(verdict_.scalars);
    figures.insert(figures.end(), verdict_.scalars.begin(), verdict_.scalars.end());
    verdict_.scalars.clear();
  }

  plugins::RunPosition position() const { return {true, state_.step, state_.epoch, 0, 1}; }

  void learn_directions() {
    state_.directions["train/loss"] = -1;
    for (const auto& data : training_.validation) {
      state_.directions[data->dataset.name() + "/loss"] = -1;
      for (size_t i = 0; i < training_.metrics.size(); ++i)
        for (size_t k = 0; k < training_.figure_names[i].size(); ++k)
          state_.directions[data->dataset.name() + "/" + training_.figure_names[i][k]] =
              training_.metrics[i].figures()[k].direction;
    }
  }

  Training& training_;
  Announcer announcer_;
  Recorder& recorder_;
  const std::atomic<int>& stop_signal_;
  Due log_due_;
  Due validation_due_;
  Due checkpoint_due_;
  LossMeter log_meter_;    // since the last log
  LossMeter epoch_meter_;  // since the epoch began
  std::function<void(Event)> announce_;
  RunState state_;
  Verdict verdict_;
  RunReport report_;
  bool stopping_ = false;
  int64_t last_saved_step_ = -1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

RunReport train(Training& training, const std::vector<Observer*>& observers, Recorder& recorder,
                const std::atomic<int>& stop_signal) {
  return Loop(training, observers, recorder, stop_signal).run();
}

}  // namespace tenon::pipeline
