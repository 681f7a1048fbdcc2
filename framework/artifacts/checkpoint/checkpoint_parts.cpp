#include "framework/artifacts/checkpoint/checkpoint_parts.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/checkpoint_digest.h"
#include "framework/artifacts/checkpoint/class_names.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/files/file_error.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr auto kPartErrors = support::ErrorKind::checkpoint;
constexpr auto kPartPollInterval = std::chrono::milliseconds(5);
constexpr std::string_view kPartPrefix = "training.rank";
constexpr std::string_view kPartSuffix = ".safetensors";

// The name is temporary, so that a later run removes what remains of a crash.
fs::path temporary_path_of(const fs::path& checkpoints, const CheckpointPart& part) {
  return checkpoints /
         ("." + name_checkpoint_folder(part.step) + ".tmp-" + std::to_string(part.number) + "-" + part.name);
}

// Has the digest of a complete part. It appears in one step, after the part.
fs::path digest_path_of(const fs::path& part) { return part.string() + ".xxh128"; }

}  // namespace

std::string name_training_part(int64_t rank) {
  return std::string(kPartPrefix) + std::to_string(rank) + std::string(kPartSuffix);
}

bool is_training_part(std::string_view name) {
  if (!name.starts_with(kPartPrefix) || !name.ends_with(kPartSuffix)) return false;
  const std::string_view rank = name.substr(kPartPrefix.size(), name.size() - kPartPrefix.size() - kPartSuffix.size());
  return !rank.empty() && rank.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string name_content(std::string_view name) {
  if (is_model_file(name)) return kModelFile;
  return name == kTrainingFile || is_training_part(name) ? kTrainingFile : "";
}

void write_checkpoint_part(const fs::path& checkpoints, const CheckpointPart& part,
                           std::span<const TensorView> tensors) {
  const fs::path path = temporary_path_of(checkpoints, part);
  const std::string digest =
      write_safetensors(path, tensors, make_weights_metadata(), kPartErrors, SyncedBy::containing_folder);
  sync_path(path, kPartErrors);
  write_file_durably(digest_path_of(path), digest, kPartErrors);
}

CheckpointFile take_checkpoint_part(const fs::path& checkpoints, const CheckpointPart& part, const fs::path& folder,
                                    const std::atomic<bool>& is_abandoned) {
  const fs::path path = temporary_path_of(checkpoints, part), digest_path = digest_path_of(path);
  while (!support::path_exists(digest_path)) {
    if (is_abandoned)
      throw support::Error(kPartErrors, (checkpoints / name_checkpoint_folder(part.step)).string() + ": rank " +
                                            std::to_string(part.rank) + " has not written " + part.name +
                                            "; the checkpoint is not complete and was removed");
    std::this_thread::sleep_for(kPartPollInterval);
  }
  CheckpointFile entry{part.name, support::read_file_size(path, kPartErrors),
                       support::read_file(digest_path, {kPartErrors, "the digest of a part", kMostManifestBytes})};
  std::error_code error;
  fs::rename(path, folder / entry.name, error);
  if (error) throw make_file_error(kPartErrors, path, "cannot be moved into the checkpoint", error.value());
  fs::remove(digest_path, error);  // otherwise the next run removes it
  return entry;
}

}  // namespace tenon::artifacts
