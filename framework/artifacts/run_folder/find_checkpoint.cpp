#include "framework/artifacts/run_folder/find_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "framework/artifacts/checkpoint/checkpoint_links.h"
#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/artifacts/run_folder/run_record.h"
#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

using support::Error;
constexpr auto kOfSearch = support::ErrorKind::checkpoint;

// Returns none and logs a warning if a run cannot resume from the checkpoint.
std::optional<CheckpointManifest> open_or_pass_over(const fs::path& checkpoint, const ReadCheckpointFile& read) {
  try {
    CheckpointManifest manifest = verify_checkpoint(checkpoint, read);
    if (!manifest.state.empty()) return manifest;
    support::log_warning("{} contains only weights, so a run cannot resume from it; skipped", checkpoint.string());
  } catch (const Error& damage) {
    support::log_warning("{}; skipped", damage.what());
  }
  return std::nullopt;
}

std::optional<FoundCheckpoint> newest_of(const fs::path& run, const ReadCheckpointFile& read) {
  const RunFolder folder{resolve_links(run)};
  restore_copied_checkpoints(folder.checkpoints());
  for (const fs::path& checkpoint : list_checkpoint_folders(folder.checkpoints()))
    if (auto manifest = open_or_pass_over(checkpoint, read))
      return FoundCheckpoint{folder.root, checkpoint, std::move(*manifest), true, has_crashed(folder.root)};
  return std::nullopt;
}

// Returns the run folder that has this checkpoint. Empty for one outside of a run, such as a copied folder: two folders
// above it may be another run.
fs::path find_run_of(const fs::path& checkpoint) {
  const RunFolder run{checkpoint.parent_path().parent_path()};
  return checkpoint.parent_path() == run.checkpoints() && support::is_file(run.plan_file()) ? run.root : fs::path();
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
  throw Error(kOfSearch, "{}{}", reason, other ? "; " + other->string() + " is intact" : "");
}

// Returns the checkpoint that a link would name. For a copy of a run that has no links. Skips manifests that cannot be
// read.
std::optional<fs::path> find_without_link(const RunFolder& run, const std::string& link) {
  const std::vector<fs::path> checkpoints = list_checkpoint_folders(run.checkpoints());  // newest first
  if (link == kLatest) return checkpoints.empty() ? std::nullopt : std::optional(checkpoints.front());
  const auto monitor = read_monitored_metric(run.record_file());
  std::optional<fs::path> best;
  double best_score = 0;
  for (const fs::path& checkpoint : checkpoints) {
    if (!monitor) break;
    NamedMetrics metrics;
    try {
      metrics = read_manifest(checkpoint).metrics;
    } catch (const Error&) {
      continue;
    }
    const auto found = std::ranges::find(metrics, monitor->name, &std::pair<std::string, double>::first);
    if (found == metrics.end() || std::isnan(found->second)) continue;
    const double score = monitor->is_larger_better ? -found->second : found->second;
    if (best && score > best_score) continue;  // among equals the earlier
    best = checkpoint;
    best_score = score;
  }
  return best;
}

constexpr const char* kExpected =
    "; expected \"auto\", \"latest\", \"best\", or the folder of a checkpoint or of a run";

FoundCheckpoint open_named(const fs::path& path, const fs::path& output_dir, const ReadCheckpointFile& read) {
  const fs::path checkpoint = resolve_links(path);
  if (!parse_checkpoint_folder(checkpoint.filename().string()) && !support::path_exists(checkpoint / kManifestFile))
    throw Error(kOfSearch, "{}: is a folder without {}{}{}", path.string(), kManifestFile, kExpected,
                suggest_checkpoint(path, {}, output_dir));
  CheckpointManifest manifest;
  try {
    manifest = verify_checkpoint(checkpoint, read);
  } catch (const Error& damage) {
    refuse_with_hint(checkpoint, damage.what());
  }
  if (manifest.state.empty())
    refuse_with_hint(checkpoint, checkpoint.string() +
                                     ": contains only weights; expected a checkpoint with training state: start a "
                                     "new run from these weights with model.weights, or choose another checkpoint");
  const fs::path run = find_run_of(checkpoint);
  if (run.empty()) return {run, checkpoint, std::move(manifest), /*is_newest=*/false, /*has_run_crashed=*/false};
  return {run, checkpoint, std::move(manifest), is_newest(checkpoint), has_crashed(run)};
}

std::optional<FoundCheckpoint> find_automatically(const fs::path& output_dir, const std::string& name,
                                                  const ReadCheckpointFile& read) {
  const auto runs = list_runs(output_dir, name);
  if (runs.empty() || has_ended_as_planned(RunFolder{runs.front()}.record_file())) return std::nullopt;
  auto found = newest_of(runs.front(), read);
  if (!found)
    support::log_warning("{}{} has no checkpoint to resume from; starting a new run", runs.front().string(),
                         has_crashed(runs.front()) ? " crashed and" : "");
  return found;
}

FoundCheckpoint find_latest(const fs::path& output_dir, const std::string& name, const ReadCheckpointFile& read) {
  for (const fs::path& run : list_runs(output_dir, name))
    if (auto found = newest_of(run, read)) return *found;
  throw Error(kOfSearch, "{}: no run has a checkpoint to resume from; remove --resume to start a new run",
              (output_dir / name).string());
}

// Says why none of the runs, newest first, has a best checkpoint.
std::string explain_missing_best(const std::vector<fs::path>& runs) {
  for (const fs::path& run : runs)
    if (const auto monitor = read_monitored_metric(RunFolder{run}.record_file()))
      return fmt::format("{} was not a number in any validation of {}", monitor->name, run.filename().string());
  return "that requires checkpoint.monitor";
}

FoundCheckpoint find_best(const fs::path& output_dir, const std::string& name, const ReadCheckpointFile& read) {
  if (const auto checkpoint = find_linked_in_runs(kBest, output_dir, name))
    return open_named(*checkpoint, output_dir, read);
  throw Error(kOfSearch,
              "{}: no run has a best checkpoint, because {}; use --resume latest to resume from the newest "
              "checkpoint",
              (output_dir / name).string(), explain_missing_best(list_runs(output_dir, name)));
}

bool is_checkpoint(const fs::path& folder) { return support::is_file(folder / kManifestFile); }

// The runs in a folder, newest first. Empty if it cannot be listed.
std::vector<fs::path> list_runs_in(const fs::path& folder) {
  try {
    return support::is_folder(folder) ? list_runs(folder, "") : std::vector<fs::path>();
  } catch (const Error&) {
    return {};
  }
}

std::string did_you_mean(const fs::path& meant) { return formats::did_you_mean(meant.string()); }

FoundWeights open_checkpoint(const fs::path& folder) {
  const CheckpointManifest manifest = verify_checkpoint(folder);
  const fs::path checkpoint = resolve_links(folder);  // `latest` is a link
  return {find_model_file(checkpoint), checkpoint, manifest.epoch, manifest.step};
}

FoundWeights find_linked(const std::string& link, const fs::path& output_dir, const std::string& name) {
  const std::vector<fs::path> runs = list_runs(output_dir, name);
  if (const auto checkpoint = find_linked_in_runs(link, output_dir, name)) {
    FoundWeights weights = open_checkpoint(*checkpoint);
    const fs::path run = find_run_of(weights.checkpoint);
    if (link == kBest && !run.empty())
      if (const auto monitor = read_monitored_metric(RunFolder{run}.record_file())) weights.monitor = monitor->name;
    return weights;
  }
  const std::string found = runs.empty() ? "no run found"
                            : link == kBest
                                ? "none of the runs has a best checkpoint, because " + explain_missing_best(runs)
                                : "none of the runs has a checkpoint";
  throw Error(kOfSearch, "{}: {}; train first, or pass a checkpoint or a safetensors file with --checkpoint",
              (output_dir / name).string(), found);
}

}  // namespace

std::optional<FoundCheckpoint> find_checkpoint(const std::string& what, const fs::path& output_dir,
                                               const std::string& name, const ReadCheckpointFile& read) {
  if (what == "auto") return find_automatically(output_dir, name, read);
  if (what == kLatest) return find_latest(output_dir, name, read);
  if (what == kBest) return find_best(output_dir, name, read);
  const fs::path folder = fs::path(what).parent_path();
  fs::path named = replace_checkpoint_names(what);
  if (folder.filename() == RunFolder{}.checkpoints()) {
    const auto restored = restore_copied_checkpoints(folder);
    if (const auto copy = restored.find(what); copy != restored.end()) named = copy->second;
  }
  if (!support::is_folder(named))
    throw Error(kOfSearch, "{}: {}{}{}", support::format_path(what), support::describe_path(what), kExpected,
                suggest_checkpoint(what, {"auto", kLatest, kBest}, output_dir));
  const fs::path path = find_run(named);
  if (!is_run_folder(path)) return open_named(path, output_dir, read);
  if (auto found = newest_of(path, read)) return found;
  throw Error(kOfSearch, "{}: the run has no checkpoint to resume from; choose another run", path.string());
}

fs::path find_run(const fs::path& path) {
  if (!support::is_folder(path) || is_run_folder(path) || is_checkpoint(path)) return path;
  fs::path absolute = support::make_absolute(path).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  if (absolute.filename() == RunFolder{}.checkpoints()) return absolute.parent_path();
  const std::vector<fs::path> runs = list_runs_in(path);
  const auto with_checkpoint = std::ranges::find_if(
      runs, [](const fs::path& run) { return !list_checkpoint_folders(RunFolder{run}.checkpoints()).empty(); });
  if (with_checkpoint != runs.end()) return *with_checkpoint;
  return runs.empty() ? path : runs.front();
}

std::string suggest_checkpoint(const fs::path& path, const std::vector<std::string>& words,
                               const fs::path& output_dir) {
  if (const auto index = find_index_instead(path)) return did_you_mean(*index);
  if (support::is_file(path)) return is_checkpoint(path.parent_path()) ? did_you_mean(path.parent_path()) : "";
  if (support::is_folder(path)) {
    // Of a folder of folders of runs, such as runs, the first one that has runs.
    try {
      for (const fs::path& entry : support::list_folder(path, support::ErrorKind::checkpoint))
        if (!list_runs_in(entry).empty()) return did_you_mean(entry);
    } catch (const Error&) {
    }
    return "";
  }
  if (const auto word = formats::nearest_name(path.string(), words)) return did_you_mean(*word);
  if (!output_dir.empty() && !path.empty() && !list_runs_in(output_dir / path).empty())
    return did_you_mean(output_dir / path);
  // "step-230" is "step-00000230".
  if (const auto step = parse_step(path.filename().string()))
    if (const fs::path whole = path.parent_path() / name_checkpoint_folder(*step); support::is_folder(whole))
      return did_you_mean(whole);
  return support::suggest_path(path, [](const fs::path& entry) { return support::path_exists(entry); });
}

std::optional<fs::path> find_named_checkpoint(const fs::path& run, const std::string& link) {
  if (auto checkpoint = find_linked_checkpoint(RunFolder{run}.checkpoints(), link.c_str())) return checkpoint;
  return find_without_link(RunFolder{run}, link);
}

std::optional<fs::path> find_linked_in_runs(const std::string& link, const fs::path& output_dir,
                                            const std::string& name) {
  for (const fs::path& run : list_runs(output_dir, name)) {
    if (!is_run_folder(run)) continue;
    if (auto checkpoint = find_named_checkpoint(run, link)) return checkpoint;
  }
  return std::nullopt;
}

FoundWeights find_weights(const std::string& what, const fs::path& output_dir, const std::string& name) {
  if (what == kLatest || what == kBest) return find_linked(what, output_dir, name);
  const fs::path path = find_run(replace_checkpoint_names(what));
  const std::string expected =
      "; expected \"latest\", \"best\", the folder of a checkpoint or of a run, or a safetensors file";
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    const bool is_other = !parse_checkpoint_folder(path.filename().string()) && path.filename() != kLatest &&
                          path.filename() != kBest && !support::path_exists(path / kManifestFile);
    if (is_other && !is_run_folder(path))
      throw Error(kOfSearch, "{}: is a folder without {}{}{}", path.string(), kManifestFile, expected,
                  suggest_checkpoint(path, {}, output_dir));
    if (!is_run_folder(path)) return open_checkpoint(path);
    if (const auto checkpoint = find_named_checkpoint(path, kLatest)) return open_checkpoint(*checkpoint);
    throw Error(kOfSearch, "{}: the run has no checkpoint; choose another run", path.string());
  }
  if (fs::exists(status)) return {.file = path, .checkpoint = {}};
  throw Error(kOfSearch, "{}: {}{}{}", support::format_path(path), support::describe_path(path), expected,
              suggest_checkpoint(path, {kLatest, kBest}, output_dir));
}

}  // namespace tenon::artifacts
