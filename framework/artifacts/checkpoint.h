// Checkpoints of a run: checkpoints/step-00000120/ with model.safetensors, training.safetensors (what the run needs
// beside the weights to go on), the texts that the run adds (plan.toml, origin.json), manifest.json and manifest.sha256
// (what `sha256sum` prints for the manifest, so that damage to the manifest itself shows), and the link `latest`.
//
// A folder under such a name is complete: it was written under a temporary name, fsync-ed, and renamed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

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

// The only writer of a run's checkpoints/. Functions throw Error(checkpoint) with the path and the reason.
class CheckpointStore {
 public:
  // Takes over the folder, which must exist, removes what an earlier crash left half-written, and points `latest` at
  // the newest. REQUIRES: keep >= 1.
  CheckpointStore(std::filesystem::path folder, int64_t keep);

  // Writes a checkpoint, points `latest` at it, and only then removes the oldest beyond `keep`. One of the same step is
  // replaced. Contents that are equal give equal bytes. Returns the checkpoint's folder. If it throws, the checkpoints
  // there were are intact. One of weights alone takes no other's place: nothing is replaced or removed.
  std::filesystem::path write(const CheckpointContents& contents);

 private:
  void remove_oldest() const;

  std::filesystem::path folder_;
  int64_t keep_;
};

// What `latest` points at; none if there is no such link.
std::optional<std::filesystem::path> find_latest_checkpoint(const std::filesystem::path& folder);

// Compares every file with the manifest's size and XXH128. Throws Error(checkpoint) naming the file that is missing or
// differs; returns the manifest.
CheckpointManifest verify_checkpoint(const std::filesystem::path& checkpoint);

}  // namespace tenon::artifacts
