// The common start of `host evaluate` and `host predict`: the run file, trained weights and data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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
    std::string dataset = {};           // as for find_dataset(); empty: all validation data
    // Folders and files that the dataset reads in place of its data, without labels. If no dataset is given, it is the
    // first of the validation data, or the training data.
    std::vector<std::string> inputs = {};
    pipeline::TestTimeAugmentation augmentation = pipeline::TestTimeAugmentation::none;
  };

  // Throws Error as open_run, find_weights and build_evaluation do, and Error(configuration) for inputs of a dataset
  // that reads no unlabelled data.
  Evaluation(const RunFile& file, const Choice& choice, Of of);
  // `group`: the processes that share the data. It must outlive this object. REQUIRES: the run
  // was opened with Computes::yes.
  Evaluation(OpenedRun run, const Choice& choice, Of of, distributed::ProcessGroup& group);
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  const config::RunPlan& plan() const { return *parts_.plan; }
  const artifacts::FoundWeights& weights() const { return weights_; }
  pipeline::Evaluation& parts() { return parts_; }
  const pipeline::Evaluation& parts() const { return parts_; }
  // The position of the run when the weights were saved.
  components::StepContext context() const;
  // Returns "runs/digits/.../step-00000230 (epoch 10, step 230)", or the file name.
  std::string describe_weights() const;

 private:
  OpenedRun run_;
  artifacts::FoundWeights weights_;
  pipeline::Evaluation parts_;
};

struct EvaluationOptions {
  RunFile file;
  Evaluation::Choice choice;
  Evaluation::Of of;
  std::vector<std::string> command_line;  // with the program
  int64_t processes = 0;                  // --processes, which is also in the overrides; 0: not given
};

// Reads the options of a command with --checkpoint, --data and --processes.
EvaluationOptions read_evaluation_options(const Arguments& arguments, Evaluation::Of of);
void add_processes_option(po::options_description& options);

// The option --tta of test-time augmentation. Refuses other words than flip.
void add_augmentation_option(po::options_description& options);
pipeline::TestTimeAugmentation read_augmentation(const Arguments& arguments);

// Calls `work` in each process that distributed.processes requests, or in the one process. Returns what it returns,
// after all processes have ended. Throws Error as launch_processes(), join_ranks() and Evaluation do; a rank reports
// its error to the others and ends.
int evaluate_in_processes(const EvaluationOptions& options, const std::function<int(Evaluation&)>& work);

}  // namespace tenon::host
