#include <algorithm>
#include <future>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/checkpoint_digest.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/digests/xxh128.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr const char* kHint = "; it was damaged or changed after it was written: use another checkpoint";

// Returns the size of the file in bytes.
uintmax_t check_is_file(const fs::path& file) {
  std::error_code error;
  const auto status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found)
    support::refuse_path(support::ErrorKind::checkpoint, file, "is missing; the checkpoint is not complete");
  if (error) support::refuse_path(support::ErrorKind::checkpoint, file, "cannot be read: " + error.message());
  if (!fs::is_regular_file(status))
    support::refuse_path(support::ErrorKind::checkpoint, file, "is not a file; the checkpoint is not complete");
  const uintmax_t bytes = fs::file_size(file, error);
  if (error) support::refuse_path(support::ErrorKind::checkpoint, file, "cannot be read: " + error.message());
  return bytes;
}

std::string read_text(const fs::path& file) {
  check_is_file(file);
  return support::read_file(file, {support::ErrorKind::checkpoint, "a file of a checkpoint", kMostManifestBytes});
}

CheckpointManifest read_verified_manifest(const fs::path& checkpoint) {
  const fs::path file = checkpoint / kManifestFile;
  const std::string text = read_text(file);
  if (read_text(checkpoint / kManifestDigestFile) != format_manifest_digest(text)) {
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         "its XXH128 is " + support::xxh128(text) + ", which differs from " + kManifestDigestFile +
                             "; one of the two files was damaged or changed: use another checkpoint");
  }
  return parse_checkpoint_manifest(text, file);
}

fs::path follow_links(const fs::path& file) {
  std::error_code error;
  const fs::path target = fs::canonical(file, error);
  return error ? file : target;
}

// The manifest of the checkpoint that has this file. None if the file is not in the folder of a checkpoint.
std::optional<CheckpointManifest> find_manifest(const fs::path& file) {
  const fs::path folder = file.parent_path();
  std::error_code ignored;
  // Other tools use these file names too, but a checkpoint has both files.
  if (!fs::exists(folder / kManifestFile, ignored) || !fs::exists(folder / kManifestDigestFile, ignored))
    return std::nullopt;
  return read_verified_manifest(folder);
}

void check_size(const fs::path& file, const CheckpointFile& expected) {
  if (const uintmax_t bytes = check_is_file(file); bytes != expected.bytes)
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         "has " + std::to_string(bytes) + " bytes; expected " + std::to_string(expected.bytes) + kHint);
}

void check_digest(const fs::path& file, const std::string& digest, const CheckpointFile& expected) {
  if (digest != expected.xxh128)
    support::refuse_path(support::ErrorKind::checkpoint, file,
                         "its XXH128 is " + digest + "; expected " + expected.xxh128 + kHint);
}

}  // namespace

std::string read_checkpoint_digest(const fs::path& file) {
  try {
    return support::read_xxh128(file);
  } catch (const support::Error& error) {
    throw support::Error(support::ErrorKind::checkpoint, error.what());
  }
}

uint64_t read_checkpoint_file_size(const fs::path& file) { return check_is_file(file); }

std::string format_manifest_digest(std::string_view manifest_text) {
  return support::xxh128(manifest_text) + "  " + kManifestFile + "\n";
}

CheckpointManifest verify_checkpoint(const fs::path& checkpoint, const ReadCheckpointFile& read) {
  std::error_code error;
  if (!fs::is_directory(checkpoint, error))
    support::refuse_path(support::ErrorKind::checkpoint, checkpoint, "is not a folder; expected a checkpoint");
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
  for (size_t i = 0; i < digests.size(); ++i) {
    check_digest(checkpoint / manifest.files[i].name, digests[i].get(), manifest.files[i]);
  }
  if (!has_model)
    support::refuse_path(support::ErrorKind::checkpoint, checkpoint / kManifestFile,
                         std::string("does not list ") + kModelFile);
  return manifest;
}

void verify_checkpoint_file(const fs::path& file) {
  const fs::path target = follow_links(file);
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
  const fs::path target = follow_links(file);
  if (target.filename() != kModelFile && target.filename() != kModelIndex) return {};
  std::optional<CheckpointManifest> manifest = find_manifest(target);
  if (!manifest) return {};
  return {target.parent_path() / kManifestFile, std::move(manifest->excluded)};
}

}  // namespace tenon::artifacts
