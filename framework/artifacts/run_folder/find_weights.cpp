#include "framework/artifacts/run_folder/find_weights.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/checkpoint_digest.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/run_folder/find_run.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr auto kOfWeights = support::ErrorKind::checkpoint;

[[noreturn]] void refuse_weights(const std::string& message) { throw support::Error(kOfWeights, message); }

FoundWeights open_checkpoint(const fs::path& folder) {
  const CheckpointManifest manifest = verify_checkpoint(folder);
  std::error_code error;
  fs::path checkpoint = fs::canonical(folder, error);  // `latest` is a link
  if (error) checkpoint = folder;
  return {find_model_file(checkpoint), checkpoint, manifest.epoch, manifest.step};
}

FoundWeights find_linked(const std::string& link, const fs::path& output_dir, const std::string& name) {
  if (const auto checkpoint = find_linked_in_runs(link, output_dir, name)) return open_checkpoint(*checkpoint);
  const std::string found = list_runs(output_dir, name).empty() ? "no run found"
                            : link == kBest ? "none of the runs has a best checkpoint, because that "
                                              "requires checkpoint.monitor"
                                            : "none of the runs has a checkpoint";
  refuse_weights((output_dir / name).string() + ": " + found +
                 "; train first, or pass a checkpoint or a safetensors file with --checkpoint");
}

}  // namespace

std::optional<fs::path> find_linked_in_runs(const std::string& link, const fs::path& output_dir,
                                            const std::string& name) {
  for (const fs::path& run : list_runs(output_dir, name)) {
    std::error_code error;
    if (!fs::is_directory(run / "checkpoints", error)) continue;
    if (const auto checkpoint = find_linked_checkpoint(run / "checkpoints", link.c_str())) return checkpoint;
  }
  return std::nullopt;
}

FoundWeights find_weights(const std::string& what, const fs::path& output_dir, const std::string& name) {
  if (what == kLatest || what == kBest) return find_linked(what, output_dir, name);
  const fs::path path = find_run(what);
  const std::string expected =
      "; expected \"latest\", \"best\", the folder of a checkpoint or of a run, or a safetensors file";
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    const bool is_other = !parse_checkpoint_folder(path.filename().string()) && path.filename() != kLatest &&
                          path.filename() != kBest && !support::path_exists(path / kManifestFile);
    if (is_other && !is_run_folder(path))
      refuse_weights(path.string() + ": is a folder without " + kManifestFile + expected +
                     suggest_checkpoint(path, {}, output_dir));
    if (!is_run_folder(path)) return open_checkpoint(path);
    if (const auto checkpoint = find_linked_checkpoint(path / "checkpoints", kLatest))
      return open_checkpoint(*checkpoint);
    refuse_weights(path.string() + ": the run has no checkpoint; choose another run");
  }
  if (fs::exists(status)) return {.file = path, .checkpoint = {}};
  refuse_weights(support::print_path(path) + ": " + support::describe_path(path) + expected +
                 suggest_checkpoint(path, {kLatest, kBest}, output_dir));
}

}  // namespace tenon::artifacts
