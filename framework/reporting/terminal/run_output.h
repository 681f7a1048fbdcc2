// The standard output of a run: text or JSON lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/artifacts/run_folder/history.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/loop/train.h"
#include "framework/pipeline/state/events.h"

namespace tenon::reporting {

// What has been recorded in the folder of a run so far.
struct RecordedRun {
  std::filesystem::path folder;
  int64_t lines;                          // of the history
  std::filesystem::path last_checkpoint;  // last complete checkpoint; empty: none yet
};

// Prints nothing.
class RunOutput {
 public:
  virtual ~RunOutput() = default;
  // Called before the first step. `resumed_from`: the checkpoint of a resumed run, or null.
  virtual void open(const pipeline::Training& /*training*/, const RecordedRun& /*recorded*/,
                    const artifacts::FoundCheckpoint* /*resumed_from*/) {}
  // Returns the observer that shows progress. Null: no progress, or only the lines of the history.
  virtual pipeline::Observer* observer() { return nullptr; }
  // Prints a message for the user.
  virtual void say(const std::string& /*sentence*/) {}
  // Called for each line written to the history.
  virtual void add(const artifacts::HistoryLine&) {}
  virtual void close(const pipeline::RunReport& /*report*/, const pipeline::Training& /*training*/,
                     const RecordedRun& /*recorded*/) {}
  // Called after the objects of the run are destroyed, which may log. Prints what the user should read last.
  virtual void end() {}
};

std::unique_ptr<RunOutput> make_text_output();
std::unique_ptr<RunOutput> make_json_output();

}  // namespace tenon::reporting
