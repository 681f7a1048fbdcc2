#include "framework/artifacts/checkpoint/checkpoint_links.h"

#include <atomic>
#include <string>
#include <system_error>
#include <utility>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"

namespace tenon::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr auto kLinkErrors = support::ErrorKind::checkpoint;

bool is_link_name(const fs::path& name) { return name == kLatest || name == kBest; }

// Returns the type of the path itself, which may be a symbolic link.
fs::file_type type_of(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type();
}

// Returns the checkpoint that the content of a file names. None if it names none, or cannot be read.
std::optional<fs::path> read_name_file(const fs::path& file) {
  constexpr size_t kMostBytes = 256;
  try {
    std::string name = support::read_file(file, {kLinkErrors, "a link to a checkpoint", kMostBytes});
    name.erase(name.find_last_not_of(" \r\n") + 1);
    return parse_checkpoint_folder(name) ? std::optional(file.parent_path() / name) : std::nullopt;
  } catch (const support::Error&) {
    return std::nullopt;
  }
}

// Returns the original of a copied checkpoint, whether or not it exists. None if the folder is no checkpoint.
std::optional<fs::path> name_original(const fs::path& copy) {
  try {
    return copy.parent_path() / name_checkpoint_folder(read_manifest(copy).step);
  } catch (const support::Error&) {
    return std::nullopt;
  }
}

// Returns the original of a copied checkpoint if both have the same manifest, which has the digests of all files.
std::optional<fs::path> find_equal_original(const fs::path& copy) {
  try {
    const auto original = name_original(copy);
    const bool is_equal = original && support::is_file(*original / kManifestFile) &&
                          read_manifest_text(*original) == read_manifest_text(copy);
    return is_equal ? original : std::nullopt;
  } catch (const support::Error&) {
    return std::nullopt;
  }
}

}  // namespace

void link_checkpoint(const fs::path& link, const fs::path& checkpoint) {
  if (try_replace_link_durably(link, checkpoint.filename(), kLinkErrors)) return;
  write_file_durably(link, checkpoint.filename().string() + "\n", kLinkErrors);
  static std::atomic<bool> is_reported = false;
  if (!is_reported.exchange(true))
    support::log_warning(
        "{}: this file system has no symbolic links, so latest and best are files with the name of a checkpoint; the "
        "commands of the host read them",
        link.parent_path().string());
}

std::optional<fs::path> find_linked_checkpoint(const fs::path& checkpoints, const char* link) {
  const fs::path path = checkpoints / link;
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  if (!error) return checkpoints / target;
  if (error == std::errc::no_such_file_or_directory) return std::nullopt;
  const fs::file_type type = type_of(path);
  if (type == fs::file_type::directory) return find_equal_original(path).value_or(path);
  if (type == fs::file_type::regular)
    if (auto named = read_name_file(path)) return named;
  throw make_file_error(kLinkErrors, path, "is not a link to a checkpoint", error.value());
}

fs::path replace_checkpoint_names(const fs::path& path) {
  fs::path replaced;
  for (const fs::path& name : path) {
    const fs::path parent = std::exchange(replaced, replaced / name);
    if (!is_link_name(name) || support::make_absolute(replaced).parent_path().filename() != "checkpoints") continue;
    const fs::file_type type = type_of(replaced);
    std::optional<fs::path> checkpoint;
    if (type == fs::file_type::regular) checkpoint = read_name_file(replaced);
    if (type == fs::file_type::directory) checkpoint = find_equal_original(replaced);
    if (checkpoint && support::is_folder(*checkpoint)) replaced = parent / checkpoint->filename();
  }
  return replaced;
}

std::map<fs::path, fs::path> restore_copied_checkpoints(const fs::path& checkpoints) {
  std::map<fs::path, fs::path> restored;
  for (const char* const link : {kLatest, kBest}) {
    const fs::path copy = checkpoints / link;
    if (type_of(copy) != fs::file_type::directory) continue;
    const auto original = name_original(copy);
    if (!original) continue;
    try {
      if (support::path_exists(*original)) {
        // An interrupted copy may have the manifest and not all files.
        if (is_intact(*original) || !is_intact(copy)) continue;
        remove_folder_durably(*original, kLinkErrors);
      }
      support::rename_path(copy, *original, kLinkErrors);
      restored[copy] = *original;
    } catch (const support::Error& error) {  // such as on a file system that is read-only
      support::log_warning(error.what());
    }
  }
  return restored;
}

void remove_copied_checkpoints(const fs::path& checkpoints) {
  restore_copied_checkpoints(checkpoints);
  for (const char* const link : {kLatest, kBest}) {
    const fs::path copy = checkpoints / link;
    if (type_of(copy) != fs::file_type::directory) continue;
    const auto original = name_original(copy);
    if (!original)
      refuse_checkpoint(copy,
                        "is a folder without {}; expected a link to a checkpoint, or a copy of one: rename or remove "
                        "this folder",
                        kManifestFile);
    if (find_equal_original(copy) != original)
      refuse_checkpoint(copy, "is another checkpoint of the same step as {}; rename or remove one of the two",
                        original->string());
    remove_folder_durably(copy, kLinkErrors);
  }
}

}  // namespace tenon::artifacts
