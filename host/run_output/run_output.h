// What a run says on standard output: lines for a person, lines of JSON for a program, or nothing.
#pragma once

#include <memory>
#include <string>

#include "framework/artifacts/history.h"
#include "framework/pipeline/events.h"
#include "framework/pipeline/train.h"
#include "framework/pipeline/training.h"
#include "host/command_line.h"
#include "host/resume.h"
#include "host/run_recorder.h"

namespace tenon::host {

class RunOutput {
 public:
  virtual ~RunOutput() = default;
  // Before the first step. `resumption`: null, or where the run goes on from.
  virtual void open(const pipeline::Training& training, const RunRecorder& recorder, const Resumption* resumption) = 0;
  // What shows how the run goes; null: nothing does, or the lines of the history alone.
  virtual pipeline::Observer* observer() { return nullptr; }
  // A sentence for whoever reads along.
  virtual void say(const std::string& sentence) = 0;
  // A line that went into the history.
  virtual void add(const artifacts::HistoryLine&) {}
  virtual void close(const pipeline::RunReport& report, const pipeline::Training& training,
                     const RunRecorder& recorder) = 0;
};

// As --quiet and --log-format ask for.
std::unique_ptr<RunOutput> make_run_output(const CommandLine& line);

std::unique_ptr<RunOutput> make_text_output();
std::unique_ptr<RunOutput> make_json_output();

}  // namespace tenon::host
