// Measures the time that the training thread spends in each stage. Always on: two clock reads per stage of a step.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/support/diagnostics/timeline.h"

namespace tenon::pipeline {

// Each moment belongs to one stage: a nested stage stops the clock of the outer one until it ends.
enum class Stage {
  other,       // everything else
  data,        // waiting for training batches
  transfer,    // copying batches to the device, and batch transforms
  forward,     // the model
  losses,      // the loss functions
  backward,    // gradients
  processes,   // waiting for the other processes of the run
  optimizer,   // checks, clipping, the update, averaged weights
  device,      // waiting for queued work on the device, where the time of a busy device shows
  validation,  // including its data
  checkpoint,  // time that training waits for checkpoints
  history,     // writing metrics to disk
  test         // including its data
};

struct StageSeconds {
  std::string name;  // "forward", "callback early_stopping"
  double seconds;
};

class StageTimes {
 public:
  using Clock = support::TimelineClock;

  StageTimes();

  // Calls `mark` with the name of each stage that starts, for profilers. Null: none. For all objects of the process.
  using Mark = void(const char* name);
  static void mark_with(Mark* mark) { mark_ = mark; }

  // Adds another stage; several stages may have the same name.
  Stage add(const std::string& name);

  // Starts the clock of `stage` and returns the previous stage, for the next call.
  Stage enter(Stage stage) {
    const Clock::time_point now = Clock::now();
    Entry& ended = stages_[static_cast<size_t>(current_)];
    ended.time += now - since_;
    if (support::is_timeline_on()) support::add_to_timeline(ended.name, since_, now);
    since_ = now;
    if (mark_) mark_(stages_[static_cast<size_t>(stage)].name.c_str());
    return std::exchange(current_, stage);
  }

  Stage current() const { return current_; }
  double seconds(Stage stage) const;  // as of the last enter()
  double total();                     // seconds of all stages

  // All stages that took any time so far. Stages with the same name are combined.
  std::vector<StageSeconds> list();

 private:
  struct Entry {
    std::string name;
    Clock::duration time{};
  };
  static inline Mark* mark_ = nullptr;
  std::vector<Entry> stages_;
  Stage current_ = Stage::other;
  Clock::time_point since_ = Clock::now();
};

// Times a scope.
class InStage {
 public:
  InStage(StageTimes& times, Stage stage) : times_(times), before_(times.enter(stage)) {}
  ~InStage() { times_.enter(before_); }
  // Starts the next stage in the same scope.
  void next(Stage stage) { times_.enter(stage); }
  InStage(const InStage&) = delete;
  InStage& operator=(const InStage&) = delete;

 private:
  StageTimes& times_;
  Stage before_;
};

// The mean times of the steps since the last restart(), for the history. They are times of the training thread: on CUDA
// devices a stage ends when its work is queued, and reading them does not synchronise with the device.
class StepTimes {
 public:
  using Values = std::vector<std::pair<std::string, double>>;

  // `times` must outlive this object.
  explicit StepTimes(StageTimes& times) : times_(times) { restart(0); }

  // Excludes a scope from the time of the steps, with the callbacks that it runs.
  class Pause {
   public:
    explicit Pause(StepTimes& steps) : steps_(steps), start_s_(steps.times_.total()) {}
    ~Pause() { steps_.paused_s_ += steps_.times_.total() - start_s_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    StepTimes& steps_;
    double start_s_;
  };

  void restart(int64_t step);

  // In seconds: `train/step_s`, with everything but the pauses, and of that `train/data_wait_s`,
  // `train/forward_backward_s` (also the transfer to the device and the losses) and `train/optimizer_s`. Empty if no
  // step was done since the restart.
  Values read(int64_t step);

 private:
  struct Seconds {
    double total = 0;
    double data = 0;
    double forward_backward = 0;
    double optimizer = 0;
  };
  Seconds sum_up();

  StageTimes& times_;
  int64_t first_step_ = 0;
  Seconds before_;
  double paused_s_ = 0;
};

// Whether a metric of the history is one of StepTimes, which differ between runs of the same plan.
bool is_step_time(std::string_view metric);

// One line of advice about the stage that takes most, unless that is the model itself; else "". `workers`: data.workers
// of the run.
std::string advise(const std::vector<StageSeconds>& stages, int64_t workers);

}  // namespace tenon::pipeline
