// Checkpoints of a run: checkpoints/step-00000120/ with model.safetensors, training.safetensors (what the run needs
// beside the weights to go on), the texts that the run adds (plan.toml, origin.json), manifest.json and manifest.xxh128
// (what `xxhsum` prints for the manifest, so that damage to the manifest itself shows), and the links `latest` and
// `best`.
//
// A folder under such a name is complete: it was written under a temporary name, fsync-ed, and renamed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint_manifest.h"
#include "framework/artifacts/figures.h"
#include "framework/artifacts/tensor_view.h"

namespace tenon::artifacts {

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kTrainingFile = "training.safetensors";

struct CheckpointContents {
  int64_t epoch;
  int64_t step;
  Figures figures;                    // the latest ones
  std::span<const TensorView> model;  // parameters and buffers, by PyTorch's names, in the model's order
  // What the run goes on from. Empty, both: it cannot, and only the weights are of use.
  std::span<const TensorView> training = {};
  std::map<std::string, double> state = {};
  std::map<std::string, std::string> texts = {};  // further files by name
};

// Which checkpoints stay.
struct Retention {
  int64_t keep;             // of the newest
  std::string figure = {};  // and those that are best in this one of their figures; empty: none
  bool is_larger_better = false;
  int64_t keep_best = 1;
};

// The only writer of a run's checkpoints/. Functions throw Error(checkpoint) with the path and the reason.
class CheckpointStore {
 public:
  // Takes over the folder, which must exist, removes what an earlier crash left half-written, and points `latest` at
  // the newest and `best` at the best. REQUIRES: keep >= 1, keep_best >= 1.
  CheckpointStore(std::filesystem::path folder, Retention retention);

  // Writes a checkpoint, points `latest` at it, and `best` if it is that, and only then removes those that need not
  // stay. One of the same step is replaced. Contents that are equal give equal bytes. Returns the checkpoint's folder.
  // If it throws, the checkpoints there were are intact. One of weights alone takes no other's place: nothing is
  // replaced or removed.
  std::filesystem::path write(const CheckpointContents& contents);

 private:
  std::vector<std::filesystem::path> find_best() const;
  void point_at(const char* link, const std::filesystem::path& checkpoint) const;
  void remove_surplus(const std::vector<std::filesystem::path>& best) const;

  std::filesystem::path folder_;
  Retention retention_;
};

inline constexpr const char* kLatest = "latest";
inline constexpr const char* kBest = "best";

// What the link `latest` or `best` in a run's checkpoints/ points at; none if there is no such link.
std::optional<std::filesystem::path> find_linked_checkpoint(const std::filesystem::path& folder, const char* link);

// Reads a file of a checkpoint, for whatever is in it, and returns its XXH128. Called on several threads.
using ReadCheckpointFile = std::function<std::string(const std::filesystem::path& file)>;
// For that alone. Throws Error(checkpoint) if it cannot be read.
std::string read_checkpoint_digest(const std::filesystem::path& file);

// Compares every file with the manifest's size and XXH128. Throws Error(checkpoint) naming the file that is missing or
// differs; returns the manifest. What `read` makes of the files may be used if it returns.
CheckpointManifest verify_checkpoint(const std::filesystem::path& checkpoint,
                                     const ReadCheckpointFile& read = read_checkpoint_digest);

// Compares one file of a checkpoint, such as model.safetensors, with the manifest in its folder. A file that is in no
// checkpoint passes. Throws Error(checkpoint) if the file, or the manifest, was damaged or changed. Links are followed.
void verify_checkpoint_file(const std::filesystem::path& file);

}  // namespace tenon::artifacts
