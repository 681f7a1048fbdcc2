// Checkpoints of a run. A folder such as checkpoints/step-00000120/ contains model.safetensors, or several files with
// an index (see model_files.h) if the model is large or divided over the ranks, training.safetensors (the training
// state without the weights, needed to resume), training.rank1.safetensors and so on (the optimizer's state of the
// other ranks, if it is divided over them), text files of the run (plan.toml, origin.json), manifest.json and
// manifest.xxh128. The latter is the output of `xxhsum` for the manifest, so that damage to the manifest is detected.
// The links `latest` and `best` point to checkpoints.
//
// A folder with such a name is complete: it was written under a temporary name, fsync-ed, and renamed.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/artifacts/checkpoint/fitted_data.h"
#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/checkpoint/model_sizes.h"
#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/config/values/class_names.h"

namespace tenon::artifacts {

inline constexpr const char* kTrainingFile = "training.safetensors";

// The ranks from 1 to `ranks` - 1 write parts of the training state, and of the model if `has_model`, see
// checkpoint_parts.h.
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
  // Opens an existing folder. Removes incomplete files of an earlier crash, and points `latest` to the newest and
  // `best` to the best checkpoint. Ignores damaged checkpoints. If the run resumes in its folder, `resumed_from` is the
  // checkpoint; then also removes surplus checkpoints, which a run that was killed may leave. REQUIRES: keep >= 1,
  // keep_best >= 1.
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

inline constexpr const char* kLatest = "latest";
inline constexpr const char* kBest = "best";

// Returns the target of the link `latest` or `best` in the checkpoints/ of a run. None if there is no such link.
std::optional<std::filesystem::path> find_linked_checkpoint(const std::filesystem::path& folder, const char* link);

// Reads a file of a checkpoint and returns its XXH128. The function is called on several threads.
using ReadCheckpointFile = std::function<std::string(const std::filesystem::path& file)>;
// Only computes the digest. Throws Error(checkpoint) if the file cannot be read.
std::string read_checkpoint_digest(const std::filesystem::path& file);

// Compares every file with its size and XXH128 in the manifest. Returns the manifest. Throws Error(checkpoint) that
// names the missing or different file. The caller may use the results of `read` only if this function returns.
CheckpointManifest verify_checkpoint(const std::filesystem::path& checkpoint,
                                     const ReadCheckpointFile& read = read_checkpoint_digest);

// Compares one file of a checkpoint, such as model.safetensors, with the manifest in its folder. A file outside of a
// checkpoint passes. Throws Error(checkpoint) if the file or the manifest was damaged or changed. Follows links.
void verify_checkpoint_file(const std::filesystem::path& file);

// Returns the frozen parameters that the model.safetensors of a checkpoint lacks, by the manifest in its folder. Empty
// for any other file. Follows links. Throws Error(checkpoint) if the manifest was damaged or changed.
ExcludedTensors find_excluded_tensors(const std::filesystem::path& file);

}  // namespace tenon::artifacts
