// The common start of `host evaluate` and `host predict`: the run file, trained weights and data.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/pipeline/build/training.h"
#include "host/command_line/command.h"
#include "host/training/open_run.h"
#include "host/training/run.h"

namespace tenon::host {

// The parts of a run that evaluate data, without those that train. Not movable: the parts point to each other.
class OpenedEvaluation {
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

  // Throws Error as open_run_file, find_weights and build_evaluation do, and Error(configuration) for inputs of a
  // dataset that reads no unlabelled data.
  OpenedEvaluation(const RunFile& file, const Choice& choice, Of of);
  // `group`: the processes that share the data. It must outlive this object. REQUIRES: the run
  // was opened with Computes::yes.
  OpenedEvaluation(OpenedRunFile run, const Choice& choice, Of of, distributed::ProcessGroup& group);
  OpenedEvaluation(const OpenedEvaluation&) = delete;
  OpenedEvaluation& operator=(const OpenedEvaluation&) = delete;

  const config::RunPlan& plan() const { return *parts_.plan; }
  const artifacts::FoundWeights& weights() const { return weights_; }
  // The file of the weights, or the model file that contains them.
  std::filesystem::path weights_file() const;
  pipeline::Evaluation& parts() { return parts_; }
  const pipeline::Evaluation& parts() const { return parts_; }
  // The position of the run when the weights were saved.
  components::StepContext context() const;
  // Returns "runs/digits/.../step-00000230 (epoch 10, step 230)", or the name of the file.
  std::string describe_weights() const;

 private:
  OpenedRunFile run_;
  artifacts::FoundWeights weights_;
  pipeline::Evaluation parts_;
};

struct EvaluationOptions : LaunchOptions {
  OpenedEvaluation::Choice choice;
  OpenedEvaluation::Of of;
};

// Reads the options of a command with --checkpoint, --data and --processes.
EvaluationOptions read_evaluation_options(const Arguments& arguments, OpenedEvaluation::Of of);
void add_processes_option(AddOption& add);

// The option --tta of test-time augmentation. Refuses other words than flip.
void add_augmentation_option(AddOption& add);
pipeline::TestTimeAugmentation read_augmentation(const Arguments& arguments);

// Calls `work` in each process that distributed.processes requests, or in the one process. Returns what it returns,
// after all processes have ended. Throws Error as launch_processes_if_needed(), join_ranks() and OpenedEvaluation do; a
// rank reports its error to the others and ends.
int evaluate_in_processes(const EvaluationOptions& options, const std::function<int(OpenedEvaluation&)>& work);

}  // namespace tenon::host
