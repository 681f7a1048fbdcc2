#include "framework/artifacts/find_weights.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "framework/artifacts/checkpoint.h"
#include "framework/artifacts/file_error.h"
#include "framework/support/error.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr auto kOfWeights = support::ErrorKind::checkpoint;

[[noreturn]] void refuse_weights(const std::string& message) { throw support::Error(kOfWeights, message); }

// Parses "2026-11-21T11-30-05-2" into the time and the number among the runs of that second. None for any other name.
std::optional<std::pair<std::string, int>> parse_run_name(const std::string& name) {
  constexpr std::string_view kForm = "0000-00-00T00-00-00";
  if (name.size() < kForm.size()) return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    const bool is_digit = name[i] >= '0' && name[i] <= '9';
    if (kForm[i] == '0' ? !is_digit : name[i] != kForm[i]) return std::nullopt;
  }
  int number = 1;
  if (name.size() > kForm.size()) {
    if (name[kForm.size()] != '-') return std::nullopt;
    const char* end = name.data() + name.size();
    const auto result = std::from_chars(name.data() + kForm.size() + 1, end, number);
    if (result.ec != std::errc() || result.ptr != end || number < 2) return std::nullopt;
  }
  return std::pair(name.substr(0, kForm.size()), number);
}

FoundWeights open_checkpoint(const fs::path& folder) {
  const CheckpointManifest manifest = verify_checkpoint(folder);
  std::error_code error;
  fs::path checkpoint = fs::canonical(folder, error);  // `latest` is a link
  if (error) checkpoint = folder;
  return {checkpoint / kModelFile, checkpoint, manifest.epoch, manifest.step};
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

std::vector<fs::path> list_runs(const fs::path& output_dir, const std::string& name) {
  std::vector<std::tuple<std::string, int, fs::path>> runs;
  std::error_code error;
  for (fs::directory_iterator entry(output_dir / name, error), end; !error && entry != end; entry.increment(error))
    if (const auto when = parse_run_name(entry->path().filename().string()))
      runs.emplace_back(when->first, when->second, entry->path());
  if (error && error != std::errc::no_such_file_or_directory)
    throw make_file_error(kOfWeights, output_dir / name, "cannot be listed", error.value());
  std::ranges::sort(runs, std::greater());
  std::vector<fs::path> folders;
  for (auto& [time, number, folder] : runs) folders.push_back(std::move(folder));
  return folders;
}

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
  const fs::path path = what;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    if (!fs::is_directory(path / "checkpoints", error)) return open_checkpoint(path);
    if (const auto checkpoint = find_linked_checkpoint(path / "checkpoints", kLatest))
      return open_checkpoint(*checkpoint);
    refuse_weights(path.string() + ": the run has no checkpoint; choose another run");
  }
  if (fs::exists(status)) return {.file = path, .checkpoint = {}};
  refuse_weights(
      path.string() +
      ": does not exist; expected \"latest\", \"best\", the folder of a checkpoint or of a run, or a safetensors file");
}

}  // namespace tenon::artifacts
