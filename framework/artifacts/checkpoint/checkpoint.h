// Checkpoints of a run. A folder such as checkpoints/step-00000120/ contains model.safetensors, or several files with
// an index (see model_files.h) if the model is large or divided over the ranks, training.safetensors (the training
// state without the weights, needed to resume), training.rank1.safetensors and so on (the optimizer's state of the
// other ranks, if it is divided over them), text files of the run (plan.toml, origin.json), manifest.json and
// manifest.xxh128. The latter is the output of `xxhsum` for the manifest, so that damage to the manifest is detected.
// The links `latest` and `best` point to checkpoints, see checkpoint_links.h.
//
// A folder with such a name is complete: it was written under a temporary name, fsync-ed, and renamed.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint_links.h"
#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/config/values/class_names.h"

namespace tenon::artifacts {

inline constexpr const char* kTrainingFile = "training.safetensors";

// The ranks from 1 to `ranks` - 1 write parts of the training state, and of the model if `has_model`, see
// CheckpointPart.
struct AwaitedParts {
  int64_t ranks = 1;
  int64_t number = 0;                               // number of earlier checkpoints
  const std::atomic<bool>* is_abandoned = nullptr;  // set to true: no more parts are expected
  bool has_model = false;
};

struct CheckpointContents {
  int64_t epoch;
  int64_t step;
  NamedMetrics metrics;  // the latest metrics
  // Parameters and buffers, with PyTorch's names, in the model's order. Those of this process, if parts.has_model.
  std::span<const TensorView> model;
  // The training state. If both are empty, the checkpoint contains only weights, and a run cannot resume from it.
  std::span<const TensorView> training = {};
  std::map<std::string, double> state = {};
  std::map<std::string, std::string> texts = {};  // additional files by name
  config::ClassNames class_names = {};            // in the manifest and in the metadata of model.safetensors
  ModelSizes model_sizes = {};                    // in the metadata of model.safetensors
  FittedData fitted_data = {};                    // in the metadata of model.safetensors
  std::vector<ExcludedTensor> excluded = {};      // frozen parameters that `model` lacks
  AwaitedParts parts = {};
  uint64_t most_model_bytes = kMostModelBytes;  // of a file of the model
};

// Which checkpoints to keep.
struct Retention {
  int64_t keep;             // number of newest checkpoints to keep
  std::string metric = {};  // metric that selects the best checkpoints to keep; empty: none
  bool is_larger_better = false;
  int64_t keep_best = 1;
};

// The only writer of the checkpoints/ of a run. Functions throw Error(checkpoint) with the path and the reason.
class CheckpointStore {
 public:
  // Opens an existing folder. Removes incomplete files of an earlier crash and copies of checkpoints in place of links,
  // and points `latest` to the newest and `best` to the best checkpoint. Ignores damaged checkpoints. If the run
  // resumes in its folder, `resumed_from` is the checkpoint; then also removes surplus checkpoints, which a run that
  // was killed may leave. REQUIRES: keep >= 1, keep_best >= 1.
  CheckpointStore(std::filesystem::path folder, Retention retention, const std::filesystem::path& resumed_from = {});

  // Writes a checkpoint, updates the links `latest` and `best`, and then removes surplus checkpoints. Replaces a
  // checkpoint of the same step. Equal contents give equal bytes. Returns the checkpoint folder. If it throws, the
  // earlier checkpoints are intact. A checkpoint with only weights never replaces or removes another one.
  std::filesystem::path write(const CheckpointContents& contents);

 private:
  // `checkpoints`: those in the folder, newest first.
  void read_scores(const std::vector<std::filesystem::path>& checkpoints);
  void remember_score(const std::filesystem::path& checkpoint, const NamedMetrics& metrics);
  std::vector<std::filesystem::path> find_best(const std::vector<std::filesystem::path>& checkpoints) const;
  void point_at(const char* link, const std::filesystem::path& checkpoint) const;
  // Removes those that are neither among the newest nor in `kept`.
  void remove_surplus(const std::vector<std::filesystem::path>& checkpoints,
                      const std::vector<std::filesystem::path>& kept) const;

  std::filesystem::path folder_;
  Retention retention_;
  // The metric of each checkpoint that has it, with the sign that makes less better.
  std::map<std::filesystem::path, double> scores_;
};

// The parts of a checkpoint that ranks other than 0 write, while rank 0 writes the rest. A part has a temporary name
// next to the checkpoints until rank 0 moves it into the checkpoint. All ranks see the same folder.
struct CheckpointPart {
  int64_t step;      // of the checkpoint
  int64_t number;    // number of earlier checkpoints of this process, which is the same on all ranks
  int64_t rank;      // for messages
  std::string name;  // in the checkpoint
};

// Returns "training.rank2.safetensors", the name of a part of the training state.
std::string name_training_part(int64_t rank);
bool is_training_part(std::string_view name);

// Returns the name that a file with this content has if it is not divided: "model.safetensors" or
// "training.safetensors". Empty: the file has no tensors.
std::string name_content(std::string_view name);

// Writes and syncs a part. `checkpoints`: the checkpoints/ of the run. Throws Error(checkpoint).
void write_checkpoint_part(const std::filesystem::path& checkpoints, const CheckpointPart& part,
                           std::span<const TensorView> tensors);

// Waits until the part is written, and moves it to `folder`. Returns its entry for the manifest. Throws
// Error(checkpoint), also if `is_abandoned` becomes true during the wait.
CheckpointFile take_checkpoint_part(const std::filesystem::path& checkpoints, const CheckpointPart& part,
                                    const std::filesystem::path& folder, const std::atomic<bool>& is_abandoned);

}  // namespace tenon::artifacts
