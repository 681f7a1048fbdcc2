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

constexpr auto kOfLinks = support::ErrorKind::checkpoint;

bool is_link_name(const fs::path& name) { return name == kLatest || name == kBest; }

// Not followed if the path is a symbolic link.
fs::file_type type_of(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type();
}

// Returns the folder that the content of a file names. None if it names no checkpoint.
std::optional<fs::path> read_name_file(const fs::path& file) {
  constexpr size_t kMostBytes = 256;
  std::string name = support::read_file(file, {kOfLinks, "a link to a checkpoint", kMostBytes});
  name.erase(name.find_last_not_of(" \r\n") + 1);
  return parse_checkpoint_folder(name) ? std::optional(file.parent_path() / name) : std::nullopt;
}

// Returns the original of a copied checkpoint, whether or not it exists. None if the folder is no checkpoint.
std::optional<fs::path> find_original(const fs::path& copy) {
  if (!support::is_file(copy / kManifestFile)) return std::nullopt;
  return copy.parent_path() / name_checkpoint_folder(read_manifest(copy).step);
}

}  // namespace

void link_checkpoint(const fs::path& link, const fs::path& checkpoint) {
  if (try_replace_link_durably(link, checkpoint.filename(), kOfLinks)) return;
  write_file_durably(link, checkpoint.filename().string() + "\n", kOfLinks);
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
  if (type == fs::file_type::directory) {
    const auto original = find_original(path);
    return original && support::is_folder(*original) ? *original : path;
  }
  if (type == fs::file_type::regular)
    if (auto named = read_name_file(path)) return named;
  throw make_file_error(kOfLinks, path, "is not a link to a checkpoint", error.value());
}

fs::path replace_checkpoint_names(const fs::path& path) {
  fs::path replaced;
  for (const fs::path& name : path) {
    const fs::path parent = std::exchange(replaced, replaced / name);
    if (!is_link_name(name)) continue;
    const fs::file_type type = type_of(replaced);
    std::optional<fs::path> checkpoint;
    if (type == fs::file_type::regular) checkpoint = read_name_file(replaced);
    if (type == fs::file_type::directory) checkpoint = find_original(replaced);
    if (checkpoint && support::is_folder(*checkpoint)) replaced = parent / checkpoint->filename();
  }
  return replaced;
}

void remove_copied_checkpoints(const fs::path& checkpoints) {
  for (const char* const link : {kLatest, kBest}) {
    const fs::path copy = checkpoints / link;
    if (type_of(copy) != fs::file_type::directory) continue;
    const auto original = find_original(copy);
    if (!original)
      refuse_checkpoint(copy,
                        "is a folder without {}; expected a link to a checkpoint, or a copy of one: rename or remove "
                        "this folder",
                        kManifestFile);
    if (!support::path_exists(*original)) {
      support::rename_path(copy, *original, kOfLinks);
      continue;
    }
    // Only equal manifests, which have the digests of all files, show that nothing is lost.
    if (read_manifest_text(copy) != read_manifest_text(*original))
      refuse_checkpoint(copy, "is another checkpoint of the same step as {}; rename or remove one of the two",
                        original->string());
    remove_folder_durably(copy, kOfLinks);
  }
}

}  // namespace tenon::artifacts
