// The standard output of a run: text, JSON lines, or nothing.
#pragma once

#include <memory>
#include <string>

#include "framework/artifacts/run_folder/history.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/loop/train.h"
#include "framework/pipeline/state/events.h"
#include "host/training/resume.h"
#include "host/training/run_recorder.h"
#include "host/training/train_options.h"

namespace tenon::host {

class RunOutput {
 public:
  virtual ~RunOutput() = default;
  // Called before the first step. `resumption`: the checkpoint of a resumed run, or null.
  virtual void open(const pipeline::Training& training, const RunRecorder& recorder, const Resumption* resumption) = 0;
  // Returns the observer that shows progress. Null: no progress, or only the lines of the history.
  virtual pipeline::Observer* observer() { return nullptr; }
  // Prints a message for the user.
  virtual void say(const std::string& sentence) = 0;
  // Called for each line written to the history.
  virtual void add(const artifacts::HistoryLine&) {}
  virtual void close(const pipeline::RunReport& report, const pipeline::Training& training,
                     const RunRecorder& recorder) = 0;
};

// Creates the output for --quiet and --log-format.
std::unique_ptr<RunOutput> make_run_output(const TrainOptions& options);

std::unique_ptr<RunOutput> make_text_output();
std::unique_ptr<RunOutput> make_json_output();

}  // namespace tenon::host
