// What `host evaluate` and `host predict` begin with: the run file, trained weights, and what is to be computed.
#pragma once

#include <string>

#include "framework/artifacts/find_weights.h"
#include "framework/pipeline/training.h"
#include "host/command_line.h"
#include "host/open_run.h"

namespace tenon::host {

// Parts of a run file for a pass over data, without what trains. Not movable: parts point to each other.
class Evaluation {
 public:
  enum class Of {
    figures,  // losses and metrics, over the data as a run validates it
    outputs   // of the model alone, over all samples
  };

  // The data is that of --data, or, where there is none, all validation data. Throws Error as open_run, find_weights
  // and build_evaluation do.
  Evaluation(const CommandLine& line, Of of);
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  const config::RunPlan& plan() const { return run_.plan; }
  const artifacts::FoundWeights& weights() const { return weights_; }
  pipeline::Training& training() { return training_; }
  // Where the run stood that the weights are from.
  plugins::RunPosition position() const;
  // "runs/digits/.../step-00000230 (epoch 10, step 230)", or the file.
  std::string describe_weights() const;

 private:
  OpenedRun run_;
  artifacts::FoundWeights weights_;
  pipeline::Training training_;
};

}  // namespace tenon::host
