// `host checkpoint verify PATH`: checks a checkpoint for damage.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"

namespace tenon::host {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using support::Error;
using support::ErrorKind;

struct VerifiedFile {
  std::string name;
  uint64_t bytes;
  std::string xxh128;
  std::optional<std::string> damage;  // none: the file is intact
};

// A checkpoint folder or a single safetensors file.
struct Verified {
  fs::path path;
  std::optional<artifacts::CheckpointManifest> manifest;  // only for a checkpoint with a readable manifest
  std::vector<VerifiedFile> files;
  std::optional<std::string> damage;  // message about the first damage; none: all files are intact
  bool is_checkpoint = true;
  std::optional<fs::path> fallback;  // another intact checkpoint
};

// Throws Error(checkpoint) if the file cannot be read.
void check_readable(const fs::path& file) { const artifacts::SafetensorsFile readable(file); }

// Checks each file. verify_checkpoint() stops at the first damaged file.
void check_files(Verified& verified) {
  try {
    verified.manifest = artifacts::read_manifest(verified.path);
  } catch (const Error&) {
    return;  // the unreadable manifest is the damage
  }
  for (const artifacts::CheckpointFile& file : verified.manifest->files)
    verified.files.push_back({file.name, file.bytes, file.xxh128, artifacts::find_damage(verified.path, file)});
}

Verified verify_folder(const fs::path& checkpoint) {
  Verified verified{.path = checkpoint, .manifest = {}, .files = {}, .damage = {}, .fallback = {}};
  try {
    verified.manifest = artifacts::verify_checkpoint(checkpoint);
    for (const artifacts::CheckpointFile& file : verified.manifest->files) {
      verified.files.push_back({file.name, file.bytes, file.xxh128, {}});
      if (file.name.ends_with(".safetensors")) check_readable(checkpoint / file.name);
    }
  } catch (const Error& error) {
    verified.files.clear();
    verified.damage = error.what();
    check_files(verified);
    verified.fallback = artifacts::find_fallback(checkpoint);
  }
  return verified;
}

// A file of a checkpoint has a digest. A single file has none.
Verified verify_file(const fs::path& file) {
  const fs::path folder = support::make_absolute(file).parent_path();
  if (support::path_exists(folder / "manifest.json")) return verify_folder(folder);
  Verified verified{.path = file, .manifest = {}, .files = {}, .damage = {}, .is_checkpoint = false, .fallback = {}};
  try {
    check_readable(file);
    verified.files.push_back({file.filename().string(), support::read_file_size(file, ErrorKind::checkpoint), "", {}});
  } catch (const Error& error) {
    verified.damage = error.what();
  }
  return verified;
}

std::vector<Verified> verify_all(const fs::path& given) {
  const fs::path path = artifacts::find_run(given);
  const fs::path found = artifacts::find_inspected(path);
  const bool is_checkpoint =
      artifacts::parse_checkpoint_folder(found.filename().string()) || support::path_exists(found / "manifest.json");
  if (support::is_folder(found) && !artifacts::is_run_folder(path) && !is_checkpoint)
    throw Error(ErrorKind::checkpoint,
                "{}: is a folder without manifest.json; expected the folder of a checkpoint or of a run, or a "
                "safetensors file{}",
                given.string(), artifacts::suggest_checkpoint(given, {}, ""));
  if (!artifacts::is_run_folder(path)) return {support::is_folder(found) ? verify_folder(found) : verify_file(found)};
  std::vector<Verified> all;
  for (const fs::path& checkpoint : artifacts::list_checkpoint_folders(path / "checkpoints"))
    all.push_back(verify_folder(checkpoint));
  return all;
}

std::string describe_hint(const Verified& verified) {
  if (verified.fallback) return "\nnewest other intact checkpoint of the run: " + verified.fallback->string();
  return verified.is_checkpoint ? "\nno other checkpoint of the run is intact" : "";
}

void print_text(const Verified& verified) {
  reporting::write_output_text(verified.path.string());
  if (verified.manifest)
    reporting::write_output(" (epoch {}, step {})", verified.manifest->epoch, verified.manifest->step);
  reporting::write_output("  {}\n", verified.damage ? "DAMAGED" : "intact");
  reporting::TextTable table("lrl");
  for (const VerifiedFile& file : verified.files)
    table.add({file.name, support::format_bytes(file.bytes),
               file.damage           ? "DAMAGED: " + *file.damage
               : file.xxh128.empty() ? "readable; a single file has no digest to compare with"
                                     : "xxh128 " + file.xxh128});
  reporting::write_output_text(table.format("  "));
}

Json to_json(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

Json to_json(const Verified& verified) {
  Json files = Json::array();
  for (const VerifiedFile& file : verified.files)
    files.push_back({{"name", file.name},
                     {"bytes", file.bytes},
                     {"xxh128", file.xxh128.empty() ? Json() : Json(file.xxh128)},
                     {"whole", !file.damage},
                     {"damage", to_json(file.damage)}});
  return {{"path", verified.path.string()},
          {"epoch", verified.manifest ? Json(verified.manifest->epoch) : Json()},
          {"step", verified.manifest ? Json(verified.manifest->step) : Json()},
          {"whole", !verified.damage},
          {"damage", to_json(verified.damage)},
          {"fallback", verified.fallback ? Json(verified.fallback->string()) : Json()},
          {"files", files}};
}

// Compares a checkpoint, or all checkpoints of a run, with the stored digests, and reads the safetensors files as a run
// does. Throws Error(checkpoint) with the damaged file and the checkpoint to use instead.
int verify_checkpoints(const Arguments& arguments) {
  const fs::path path = arguments.positional().front();
  const std::vector<Verified> all = verify_all(path);
  if (arguments.wants_json()) {
    Json checkpoints = Json::array();
    for (const Verified& verified : all) checkpoints.push_back(to_json(verified));
    reporting::write_output_json(Json{{"verified", checkpoints}});
  } else {
    for (const Verified& verified : all) print_text(verified);
  }
  std::fflush(stdout);
  std::string damage;
  for (const Verified& verified : all)
    if (verified.damage) damage += (damage.empty() ? "" : "\n") + *verified.damage + describe_hint(verified);
  const fs::path link = path / "checkpoints/latest";
  std::error_code ignored;
  if (artifacts::is_run_folder(path) && !support::path_exists(link) && fs::is_symlink(link, ignored))
    damage +=
        (damage.empty() ? "" : "\n") + link.string() + ": is a broken link; expected a link to the newest checkpoint";
  if (!damage.empty()) throw Error(ErrorKind::checkpoint, damage);
  return 0;
}

}  // namespace

extern const Command verify_checkpoint_command{
    .name = "checkpoint verify",
    .arguments = "PATH",
    .purpose = "check a checkpoint for damage",
    .details = "Reads a checkpoint, or all checkpoints of a run, and compares each file with its stored digest.",
    .page = "guides/checkpoint_tools.md",
    .add_options = add_json_option,
    .run = verify_checkpoints};

}  // namespace tenon::host
