#include "framework/artifacts/run_folder/find_run.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/checkpoint_digest.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/nearest_path.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

bool is_checkpoint(const fs::path& folder) { return support::is_file(folder / kManifestFile); }

// The runs in a folder, newest first. Empty if it cannot be listed.
std::vector<fs::path> list_runs_in(const fs::path& folder) {
  try {
    return support::is_folder(folder) ? list_runs(folder, "") : std::vector<fs::path>();
  } catch (const support::Error&) {
    return {};
  }
}

std::string did_you_mean(const fs::path& meant) { return formats::did_you_mean(meant.string()); }

// "step-230" is "step-00000230".
fs::path add_zeros(const fs::path& path) {
  const std::string name = path.filename().string(), prefix = "step-";
  int64_t step = 0;
  if (!name.starts_with(prefix)) return path;
  const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
  const bool is_number = error == std::errc() && end == name.data() + name.size() && step >= 0;
  return is_number ? path.parent_path() / name_checkpoint_folder(step) : path;
}

}  // namespace

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
    } catch (const support::Error&) {
    }
    return "";
  }
  if (const auto word = formats::nearest_name(path.string(), words)) return did_you_mean(*word);
  if (!output_dir.empty() && !path.empty() && !list_runs_in(output_dir / path).empty())
    return did_you_mean(output_dir / path);
  if (const fs::path whole = add_zeros(path); support::is_folder(whole)) return did_you_mean(whole);
  return support::suggest_path(path, [](const fs::path& entry) { return support::path_exists(entry); });
}

}  // namespace tenon::artifacts
