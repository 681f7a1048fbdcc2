// The common start of `host evaluate` and `host predict`: the run file, trained weights and data.
#pragma once

#include <string>

#include "framework/artifacts/run_folder/find_weights.h"
#include "framework/pipeline/build/training.h"
#include "host/command_line/arguments.h"
#include "host/training/open_run.h"

namespace tenon::host {

// The parts of a run that evaluate data, without those that train. Not movable: the parts point to each other.
class Evaluation {
 public:
  enum class Of {
    metrics,  // losses and metrics on the data, as in validation
    outputs   // model outputs for all samples
  };

  struct Choice {
    std::string checkpoint = "latest";  // "latest", "best", a folder or a weights file
    std::string dataset = {};           // "train", "validation", "validation/<name>"; empty: all validation data
  };

  // Throws Error as open_run, find_weights and build_evaluation do.
  Evaluation(const RunFile& file, const Choice& choice, Of of);
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  const config::RunPlan& plan() const { return run_.plan; }
  const artifacts::FoundWeights& weights() const { return weights_; }
  pipeline::Evaluation& parts() { return parts_; }
  // The position of the run when the weights were saved.
  plugins::StepContext context() const;
  // Returns "runs/digits/.../step-00000230 (epoch 10, step 230)", or the file name.
  std::string describe_weights() const;

 private:
  OpenedRun run_;
  artifacts::FoundWeights weights_;
  pipeline::Evaluation parts_;
};

}  // namespace tenon::host
