#include "framework/artifacts/checkpoint/inspect_checkpoint.h"

#include <algorithm>
#include <future>
#include <system_error>
#include <utility>

#include "framework/artifacts/checkpoint/checkpoint_links.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/formats/strings.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/digests/xxh128.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "step-";

// Also true if this is unknown: an overlooked checkpoint could be removed.
bool may_be_folder(const fs::path& path) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  return !fs::status_known(status) || fs::is_directory(status);
}

constexpr const char* kHint = "; it was damaged or changed after it was written: use another checkpoint";

// Returns the size of the file in bytes.
uint64_t check_is_file(const fs::path& file) {
  std::error_code error;
  const auto status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) refuse_checkpoint(file, "is missing; the checkpoint is not complete");
  if (error) refuse_checkpoint(file, "cannot be read: {}", error.message());
  if (!fs::is_regular_file(status)) refuse_checkpoint(file, "is not a file; the checkpoint is not complete");
  const uint64_t bytes = fs::file_size(file, error);
  if (error) refuse_checkpoint(file, "cannot be read: {}", error.message());
  return bytes;
}

std::string read_text(const fs::path& file) {
  check_is_file(file);
  return support::read_file(file, {support::ErrorKind::checkpoint, "a file of a checkpoint", kMostManifestBytes});
}

CheckpointManifest read_verified_manifest(const fs::path& checkpoint) {
  const fs::path file = checkpoint / kManifestFile;
  const std::string text = read_text(file);
  if (read_text(checkpoint / kManifestDigestFile) != format_manifest_digest(text))
    refuse_checkpoint(
        file,
        "its XXH128 is {}, which differs from {}; one of the two files was damaged or changed: use another checkpoint",
        support::xxh128(text), kManifestDigestFile);
  return parse_checkpoint_manifest(text, file);
}

// The manifest of the checkpoint that has this file. None if the file is not in the folder of a checkpoint.
std::optional<CheckpointManifest> find_manifest(const fs::path& file) {
  const fs::path folder = file.parent_path();
  // Other tools use these file names too, but a checkpoint has both files.
  if (!support::path_exists(folder / kManifestFile) || !support::path_exists(folder / kManifestDigestFile))
    return std::nullopt;
  return read_verified_manifest(folder);
}

void check_size(const fs::path& file, const CheckpointFile& expected) {
  if (const uint64_t bytes = check_is_file(file); bytes != expected.bytes)
    refuse_checkpoint(file, "has {} bytes; expected {}{}", bytes, expected.bytes, kHint);
}

void check_digest(const fs::path& file, const std::string& digest, const CheckpointFile& expected) {
  if (digest != expected.xxh128)
    refuse_checkpoint(file, "its XXH128 is {}; expected {}{}", digest, expected.xxh128, kHint);
}

}  // namespace

fs::path resolve_links(const fs::path& path) {
  std::error_code error;
  const fs::path resolved = fs::canonical(path, error);
  return error ? path : resolved;
}

std::string name_checkpoint_folder(int64_t step) { return fmt::format("{}{:08}", kPrefix, step); }

std::optional<int64_t> parse_step(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto step = formats::parse_number<int64_t>(name.substr(kPrefix.size()));
  return step && *step >= 0 ? step : std::nullopt;
}

std::optional<int64_t> parse_checkpoint_folder(const std::string& name) {
  const auto step = parse_step(name);
  return step && name_checkpoint_folder(*step) == name ? step : std::nullopt;
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

bool is_run_folder(const fs::path& path) { return support::is_folder(path / "checkpoints"); }

fs::path find_inspected(const fs::path& named) {
  const fs::path path = replace_checkpoint_names(named);
  if (!support::path_exists(path))
    refuse_checkpoint(path, "{}; expected the folder of a checkpoint or of a run, or a safetensors file",
                      support::describe_path(path));
  if (!is_run_folder(path)) return path;
  if (const auto latest = find_linked_checkpoint(path / "checkpoints", kLatest); latest && support::is_folder(*latest))
    return resolve_links(*latest);
  const std::vector<fs::path> all = list_checkpoint_folders(path / "checkpoints");
  if (all.empty()) refuse_checkpoint(path, "the run has no checkpoint; choose another run");
  return all.front();
}

std::string read_manifest_text(const fs::path& checkpoint) {
  const fs::path file = checkpoint / kManifestFile;
  if (!support::path_exists(file))
    refuse_checkpoint(file, "is missing; expected the folder of a checkpoint or of a run, or a safetensors file");
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
      std::ranges::find_if(others, [&](const fs::path& other) { return other != self && is_intact(other); });
  return found == others.end() ? std::nullopt : std::optional(*found);
}

std::optional<std::string> find_damage(const fs::path& checkpoint, const CheckpointFile& expected) {
  try {
    const fs::path file = checkpoint / expected.name;
    if (const uint64_t bytes = check_is_file(file); bytes != expected.bytes)
      return fmt::format("has {} bytes; expected {}", bytes, expected.bytes);
    if (const std::string digest = read_checkpoint_digest(file); digest != expected.xxh128)
      return fmt::format("its XXH128 is {}; expected {}", digest, expected.xxh128);
    return std::nullopt;
  } catch (const support::Error& error) {
    const std::string place = (checkpoint / expected.name).string() + ": ", message = error.what();
    return message.starts_with(place) ? message.substr(place.size()) : message;
  }
}

std::string read_checkpoint_digest(const fs::path& file) {
  try {
    return support::read_xxh128(file);
  } catch (const support::Error& error) {
    throw support::Error(support::ErrorKind::checkpoint, error.what());
  }
}

std::string format_manifest_digest(std::string_view manifest_text) {
  return support::xxh128(manifest_text) + "  " + kManifestFile + "\n";
}

CheckpointManifest verify_checkpoint(const fs::path& checkpoint, const ReadCheckpointFile& read) {
  if (!support::is_folder(checkpoint)) refuse_checkpoint(checkpoint, "is not a folder; expected a checkpoint");
  CheckpointManifest manifest = read_verified_manifest(checkpoint);
  bool has_model = false;
  for (const auto& expected : manifest.files) check_size(checkpoint / expected.name, expected);
  std::vector<std::future<std::string>> digests;  // computed in parallel, because they are most of the work
  for (const auto& expected : manifest.files) {
    const fs::path file = checkpoint / expected.name;
    const bool is_one_of_few = digests.size() < 8;
    digests.push_back(std::async(is_one_of_few ? std::launch::async : std::launch::deferred, read, file));
    has_model |= expected.name == kModelFile || expected.name == kModelIndex;
  }
  for (size_t i = 0; i < digests.size(); ++i)
    check_digest(checkpoint / manifest.files[i].name, digests[i].get(), manifest.files[i]);
  if (!has_model) refuse_checkpoint(checkpoint / kManifestFile, "does not list {}", kModelFile);
  return manifest;
}

bool is_intact(const fs::path& checkpoint) {
  try {
    verify_checkpoint(checkpoint);
    return true;
  } catch (const support::Error&) {
    return false;
  }
}

void verify_checkpoint_file(const fs::path& file) {
  const fs::path target = resolve_links(file);
  const std::optional<CheckpointManifest> manifest = find_manifest(target);
  if (!manifest) return;
  const auto verify = [&](const fs::path& listed) {
    const auto expected = std::ranges::find(manifest->files, listed.filename().string(), &CheckpointFile::name);
    if (expected == manifest->files.end()) return false;
    check_size(listed, *expected);
    check_digest(listed, read_checkpoint_digest(listed), *expected);
    return true;
  };
  if (verify(target) && target.filename() == kModelIndex) std::ranges::for_each(list_weight_files(target), verify);
}

ExcludedTensors find_excluded_tensors(const fs::path& file) {
  const fs::path target = resolve_links(file);
  if (target.filename() != kModelFile && target.filename() != kModelIndex) return {};
  std::optional<CheckpointManifest> manifest = find_manifest(target);
  if (!manifest) return {};
  return {target.parent_path() / kManifestFile, std::move(manifest->excluded)};
}

}  // namespace tenon::artifacts
