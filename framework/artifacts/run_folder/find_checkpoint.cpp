#include "framework/artifacts/run_folder/find_checkpoint.h"

#include <system_error>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/checkpoint_digest.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/run_folder/find_run.h"
#include "framework/artifacts/run_folder/find_weights.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/artifacts/run_folder/run_record.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const std::string& message) { throw support::Error(support::ErrorKind::checkpoint, message); }

fs::path canonical_or_same(const fs::path& path) {
  std::error_code error;
  fs::path canonical = fs::canonical(path, error);
  return error ? path : canonical;
}

// Returns none and logs a warning if a run cannot resume from the checkpoint.
std::optional<CheckpointManifest> open_or_pass_over(const fs::path& checkpoint, const ReadCheckpointFile& read) {
  try {
    CheckpointManifest manifest = verify_checkpoint(checkpoint, read);
    if (!manifest.state.empty()) return manifest;
    support::log_warning(checkpoint.string() + " contains only weights, so a run cannot resume from it; skipped");
  } catch (const support::Error& damage) {
    support::log_warning(std::string(damage.what()) + "; skipped");
  }
  return std::nullopt;
}

std::optional<FoundCheckpoint> newest_of(const fs::path& run, const ReadCheckpointFile& read) {
  const RunFolder folder{canonical_or_same(run)};
  for (const fs::path& checkpoint : list_checkpoint_folders(folder.checkpoints()))
    if (auto manifest = open_or_pass_over(checkpoint, read))
      return FoundCheckpoint{folder.root, checkpoint, std::move(*manifest), true, has_crashed(folder.root)};
  return std::nullopt;
}

// REQUIRES: the checkpoint is intact. It is not verified again.
bool is_newest(const fs::path& checkpoint) {
  for (const fs::path& other : list_checkpoint_folders(checkpoint.parent_path())) {
    if (other == checkpoint) return true;
    if (open_or_pass_over(other, read_checkpoint_digest)) return false;
  }
  return false;
}

// Names another intact checkpoint of the same run, if there is one.
[[noreturn]] void refuse_with_hint(const fs::path& checkpoint, const std::string& reason) {
  const auto other = find_fallback(checkpoint);
  refuse(reason + (other ? "; " + other->string() + " is intact" : ""));
}

constexpr const char* kExpected =
    "; expected \"auto\", \"latest\", \"best\", or the folder of a checkpoint or of a run";

FoundCheckpoint open_named(const fs::path& path, const fs::path& output_dir, const ReadCheckpointFile& read) {
  const fs::path checkpoint = canonical_or_same(path);
  if (!parse_checkpoint_folder(checkpoint.filename().string()) && !support::path_exists(checkpoint / kManifestFile))
    refuse(path.string() + ": is a folder without " + kManifestFile + kExpected +
           suggest_checkpoint(path, {}, output_dir));
  CheckpointManifest manifest;
  try {
    manifest = verify_checkpoint(checkpoint, read);
  } catch (const support::Error& damage) {
    refuse_with_hint(checkpoint, damage.what());
  }
  if (manifest.state.empty())
    refuse_with_hint(checkpoint, checkpoint.string() +
                                     ": contains only weights; expected a checkpoint with training state: start a "
                                     "new run from these weights with model.weights, or choose another checkpoint");
  const fs::path run = checkpoint.parent_path().parent_path();
  return {run, checkpoint, std::move(manifest), is_newest(checkpoint), has_crashed(run)};
}

std::optional<FoundCheckpoint> find_automatically(const fs::path& output_dir, const std::string& name,
                                                  const ReadCheckpointFile& read) {
  const auto runs = list_runs(output_dir, name);
  if (runs.empty() || read_run_status(RunFolder{runs.front()}.record_file()) == RunStatus::finished)
    return std::nullopt;
  auto found = newest_of(runs.front(), read);
  if (!found)
    support::log_warning(runs.front().string() + (has_crashed(runs.front()) ? " crashed and" : "") +
                         " has no checkpoint to resume from; starting a new run");
  return found;
}

FoundCheckpoint find_latest(const fs::path& output_dir, const std::string& name, const ReadCheckpointFile& read) {
  for (const fs::path& run : list_runs(output_dir, name))
    if (auto found = newest_of(run, read)) return *found;
  refuse((output_dir / name).string() + ": no run has a checkpoint to resume from; remove --resume to start a new run");
}

FoundCheckpoint find_best(const fs::path& output_dir, const std::string& name, const ReadCheckpointFile& read) {
  if (const auto checkpoint = find_linked_in_runs(kBest, output_dir, name))
    return open_named(*checkpoint, output_dir, read);
  refuse((output_dir / name).string() +
         ": no run has a best checkpoint, because that requires checkpoint.monitor; use --resume latest to resume from "
         "the newest checkpoint");
}

}  // namespace

std::optional<FoundCheckpoint> find_checkpoint(const std::string& what, const fs::path& output_dir,
                                               const std::string& name, const ReadCheckpointFile& read) {
  if (what == "auto") return find_automatically(output_dir, name, read);
  if (what == kLatest) return find_latest(output_dir, name, read);
  if (what == kBest) return find_best(output_dir, name, read);
  if (!support::is_folder(what))
    refuse(support::print_path(what) + ": " + support::describe_path(what) + kExpected +
           suggest_checkpoint(what, {"auto", kLatest, kBest}, output_dir));
  const fs::path path = find_run(what);
  if (!is_run_folder(path)) return open_named(path, output_dir, read);
  if (auto found = newest_of(path, read)) return found;
  refuse(path.string() + ": the run has no checkpoint to resume from; choose another run");
}

}  // namespace tenon::artifacts
