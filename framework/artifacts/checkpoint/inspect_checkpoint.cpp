#include "framework/artifacts/checkpoint/inspect_checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <system_error>
#include <utility>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/checkpoint_digest.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "step-";

bool is_whole(const fs::path& checkpoint) {
  try {
    verify_checkpoint(checkpoint);
    return true;
  } catch (const support::Error&) {
    return false;
  }
}

// Also true if this is unknown: an overlooked checkpoint could be removed.
bool may_be_folder(const fs::path& path) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  return !fs::status_known(status) || fs::is_directory(status);
}

}  // namespace

std::string name_checkpoint_folder(int64_t step) {
  const std::string digits = std::to_string(step);
  return std::string(kPrefix) + std::string(8 - std::min<size_t>(digits.size(), 8), '0') + digits;
}

std::optional<int64_t> parse_checkpoint_folder(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + kPrefix.size(), end, step);
  const bool is_number = result.ec == std::errc() && result.ptr == end && step >= 0;
  return is_number && name_checkpoint_folder(step) == name ? std::optional(step) : std::nullopt;
}

std::vector<fs::path> list_checkpoint_folders(const fs::path& checkpoints) {
  if (!may_be_folder(checkpoints)) return {};
  std::vector<std::pair<int64_t, fs::path>> found;
  for (fs::path& entry : support::list_folder(checkpoints, support::ErrorKind::checkpoint)) {
    const auto step = parse_checkpoint_folder(entry.filename().string());
    if (step && may_be_folder(entry)) found.emplace_back(*step, std::move(entry));
  }
  std::ranges::sort(found, std::greater());
  std::vector<fs::path> folders;
  for (auto& [step, folder] : found) folders.push_back(std::move(folder));
  return folders;
}

bool is_run_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path / "checkpoints", error);
}

fs::path find_inspected(const fs::path& path) {
  std::error_code error;
  if (!support::path_exists(path))
    support::refuse_path(
        support::ErrorKind::checkpoint, path,
        support::describe_path(path) + "; expected the folder of a checkpoint or of a run, or a safetensors file");
  if (!is_run_folder(path)) return path;
  const fs::path latest = path / "checkpoints/latest";
  const fs::path target = fs::canonical(latest, error);
  if (!error) return target;
  const std::vector<fs::path> all = list_checkpoint_folders(path / "checkpoints");
  if (all.empty())
    support::refuse_path(support::ErrorKind::checkpoint, path, "the run has no checkpoint; choose another run");
  return all.front();
}

std::string read_manifest_text(const fs::path& checkpoint) {
  const fs::path file = checkpoint / kManifestFile;
  std::error_code error;
  if (!fs::exists(fs::status(file, error)))
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         "is missing; expected the folder of a checkpoint or of a run, or a safetensors file");
  return support::read_file(file, {support::ErrorKind::checkpoint, "a manifest", kMostManifestBytes});
}

CheckpointManifest read_manifest(const fs::path& checkpoint) {
  return parse_checkpoint_manifest(read_manifest_text(checkpoint), checkpoint / kManifestFile);
}

std::optional<fs::path> find_fallback(const fs::path& checkpoint) {
  std::error_code error;
  fs::path self = fs::canonical(checkpoint, error);
  if (error) self = support::make_absolute(checkpoint).lexically_normal();
  if (self.filename().empty()) self = self.parent_path();
  const auto others = list_checkpoint_folders(self.parent_path());
  const auto found =
      std::ranges::find_if(others, [&](const fs::path& other) { return other != self && is_whole(other); });
  return found == others.end() ? std::nullopt : std::optional(*found);
}

std::optional<std::string> find_damage(const fs::path& checkpoint, const CheckpointFile& expected) {
  try {
    const fs::path file = checkpoint / expected.name;
    if (const uint64_t bytes = read_checkpoint_file_size(file); bytes != expected.bytes)
      return "has " + std::to_string(bytes) + " bytes; expected " + std::to_string(expected.bytes);
    if (const std::string digest = read_checkpoint_digest(file); digest != expected.xxh128)
      return "its XXH128 is " + digest + "; expected " + expected.xxh128;
    return std::nullopt;
  } catch (const support::Error& error) {
    const std::string place = (checkpoint / expected.name).string() + ": ", message = error.what();
    return message.starts_with(place) ? message.substr(place.size()) : message;
  }
}

}  // namespace tenon::artifacts
