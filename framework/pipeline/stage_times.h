// Where the training thread's time goes, always on: two looks at a clock for each stage of a step.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/support/timeline.h"

namespace tenon::pipeline {

// Of these the time is at any moment one's: a stage that begins within another stops the other's clock until it ends.
enum class Stage {
  other,       // what belongs to none of the rest
  data,        // waiting for batches of training
  transfer,    // bringing them to the device, and batch transforms
  forward,     // the model
  losses,      // the loss functions
  backward,    // gradients
  processes,   // waiting for the other processes of the run
  optimizer,   // checks, clipping, the update, averaged weights
  device,      // waiting for what a device has been told to do, which is where a busy device's time shows
  validation,  // with its data
  checkpoint,  // as far as training waits for it
  history      // writing figures to the disk
};

struct StageSeconds {
  std::string name;  // "forward", "callback early_stopping"
  double seconds;
};

class StageTimes {
 public:
  using Clock = support::TimelineClock;

  StageTimes();

  // Another stage; there may be several of one name.
  Stage add(const std::string& name);

  // From here on the time is `stage`'s. Gives the one that it was before, for the next call.
  Stage enter(Stage stage) {
    const Clock::time_point now = Clock::now();
    Entry& ended = stages_[static_cast<size_t>(current_)];
    ended.time += now - since_;
    if (support::is_timeline_on()) support::add_to_timeline(ended.name, since_, now);
    since_ = now;
    return std::exchange(current_, stage);
  }

  double seconds(Stage stage) const;  // as of the last enter()

  // Of all stages that took any time, up to now; those of one name together.
  std::vector<StageSeconds> list();

 private:
  struct Entry {
    std::string name;
    Clock::duration time{};
  };
  std::vector<Entry> stages_;
  Stage current_ = Stage::other;
  Clock::time_point since_ = Clock::now();
};

// The time of a scope.
class InStage {
 public:
  InStage(StageTimes& times, Stage stage) : times_(times), before_(times.enter(stage)) {}
  ~InStage() { times_.enter(before_); }
  // What comes next in it.
  void next(Stage stage) { times_.enter(stage); }
  InStage(const InStage&) = delete;
  InStage& operator=(const InStage&) = delete;

 private:
  StageTimes& times_;
  Stage before_;
};

// One line of what to do about the stage that takes most, where that is not the model's own work; else "".
// `workers`: data.workers of the run.
std::string advise(const std::vector<StageSeconds>& stages, int64_t workers);

}  // namespace tenon::pipeline
