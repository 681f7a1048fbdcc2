#include "framework/artifacts/find_checkpoint.h"

#include <system_error>

#include "framework/artifacts/checkpoint.h"
#include "framework/artifacts/find_weights.h"
#include "framework/artifacts/inspect_checkpoint.h"
#include "framework/artifacts/run_folder.h"
#include "framework/artifacts/run_record.h"
#include "framework/support/error.h"
#include "framework/support/log.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const std::string& message) { throw support::Error(support::ErrorKind::checkpoint, message); }

fs::path canonical_or_same(const fs::path& path) {
  std::error_code error;
  fs::path canonical = fs::canonical(path, error);
  return error ? path : canonical;
}

// Nothing, and a warning, where a run cannot go on from it.
std::optional<CheckpointManifest> open_or_pass_over(const fs::path& checkpoint, const ReadCheckpointFile& read) {
  try {
    CheckpointManifest manifest = verify_checkpoint(checkpoint, read);
    if (!manifest.state.empty()) return manifest;
    support::log_warning(checkpoint.string() + " has weights alone, and a run cannot go on from it: passed over");
  } catch (const support::Error& damage) {
    support::log_warning(std::string(damage.what()) + "; passed over");
  }
  return std::nullopt;
}

std::optional<FoundCheckpoint> newest_of(const fs::path& run, const ReadCheckpointFile& read) {
  const RunFolder folder{canonical_or_same(run)};
  for (const fs::path& checkpoint : list_checkpoint_folders(folder.checkpoints()))
    if (auto manifest = open_or_pass_over(checkpoint, read))
      return FoundCheckpoint{folder.root, checkpoint, std::move(*manifest), true};
  return std::nullopt;
}

// Of a checkpoint that is known to be whole, and is not verified again.
bool is_newest(const fs::path& checkpoint) {
  for (const fs::path& other : list_checkpoint_folders(checkpoint.parent_path())) {
    if (other == checkpoint) return true;
    if (open_or_pass_over(other, read_checkpoint_digest)) return false;
  }
  return false;
}

// With another one of the same run, if that is whole.
[[noreturn]] void refuse_with_way_out(const fs::path& checkpoint, const std::string& reason) {
  const auto other = find_fallback(checkpoint);
  refuse(reason + (other ? "; " + other->string() + " is whole" : ""));
}

FoundCheckpoint open_named(const fs::path& path, const ReadCheckpointFile& read) {
  const fs::path checkpoint = canonical_or_same(path);
  CheckpointManifest manifest;
  try {
    manifest = verify_checkpoint(checkpoint, read);
  } catch (const support::Error& damage) {
    refuse_with_way_out(checkpoint, damage.what());
  }
  if (manifest.state.empty())
    refuse_with_way_out(checkpoint, checkpoint.string() +
                                        ": has weights alone; expected a checkpoint that a run can go on from: begin a "
                                        "run with these weights by model.weights, or take another");
  return {checkpoint.parent_path().parent_path(), checkpoint, std::move(manifest), is_newest(checkpoint)};
}

std::optional<FoundCheckpoint> find_automatically(const fs::path& output_dir, const std::string& name,
                                                  const ReadCheckpointFile& read) {
  const auto runs = list_runs(output_dir, name);
  if (runs.empty() || read_run_status(RunFolder{runs.front()}.record_file()) == RunStatus::finished)
    return std::nullopt;
  auto found = newest_of(runs.front(), read);
  if (!found) support::log_warning(runs.front().string() + " has left no checkpoint to go on from: a new run begins");
  return found;
}

FoundCheckpoint find_latest(const fs::path& output_dir, const std::string& name, const ReadCheckpointFile& read) {
  for (const fs::path& run : list_runs(output_dir, name))
    if (auto found = newest_of(run, read)) return *found;
  refuse((output_dir / name).string() +
         ": there is no run with a checkpoint to go on from; expected one: leave --resume out to begin");
}

FoundCheckpoint find_best(const fs::path& output_dir, const std::string& name, const ReadCheckpointFile& read) {
  if (const auto checkpoint = find_linked_in_runs(kBest, output_dir, name)) return open_named(*checkpoint, read);
  refuse((output_dir / name).string() +
         ": there is no run with a best checkpoint, which those with checkpoint.monitor have; expected one: "
         "--resume latest goes on from the newest");
}

}  // namespace

std::optional<FoundCheckpoint> find_checkpoint(const std::string& what, const fs::path& output_dir,
                                               const std::string& name, const ReadCheckpointFile& read) {
  if (what == "auto") return find_automatically(output_dir, name, read);
  if (what == kLatest) return find_latest(output_dir, name, read);
  if (what == kBest) return find_best(output_dir, name, read);
  std::error_code error;
  if (!fs::is_directory(what, error))
    refuse(what +
           ": is not a folder; expected \"auto\", \"latest\", \"best\", or the folder of a checkpoint or of a run");
  if (!is_run_folder(what)) return open_named(what, read);
  if (auto found = newest_of(what, read)) return found;
  refuse(what + ": the run has no checkpoint to go on from; expected one: choose another run");
}

}  // namespace tenon::artifacts
