// `host checkpoint show PATH`: prints the manifest and the tensors of a checkpoint, or the tensors of a safetensors
// file.
#include <nlohmann/json.hpp>
#include <string>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/components/calls/ports.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/training/inspected_files.h"

namespace tenon::host {

namespace {

using Json = nlohmann::ordered_json;
using artifacts::SafetensorsFile;
using artifacts::TensorView;

// Returns the complete manifest, including keys unknown to this command.
Json read_whole_manifest(const InspectedFiles& files) { return Json::parse(artifacts::read_manifest_text(files.path)); }

void print_manifest(const InspectedFiles& files) {
  reporting::TextTable table("ll");
  const Json manifest = read_whole_manifest(files);
  for (const auto& [key, value] : manifest.items())
    if (key != "files" && key != "metrics" && key != "state" && key != artifacts::kExcludedFrozenParameters)
      table.add({key, value.is_string() ? value.get<std::string>() : value.dump()});
  const size_t numbers = files.manifest->state.size();
  table.add({"state", numbers == 0 ? "none: a run cannot resume from it"
                                   : std::to_string(numbers) + " numbers; a run can resume from it"});
  for (const auto& [name, value] : files.manifest->metrics) table.add({name, artifacts::format_number(value)});
  for (const artifacts::CheckpointFile& file : files.manifest->files)
    table.add({file.name, support::format_bytes(file.bytes) + ", xxh128 " + file.xxh128});
  reporting::write_output_text(table.format("  "));
}

// The frozen parameters that the checkpoint leaves out.
void print_excluded(const artifacts::CheckpointManifest& manifest) {
  if (manifest.excluded.empty()) return;
  reporting::TextTable table("llll");
  table.add({"tensor", "dtype", "shape", "xxh128"});
  uint64_t bytes = 0;
  for (const artifacts::ExcludedTensor& tensor : manifest.excluded) {
    table.add({tensor.name, components::dtype_name(tensor.dtype),
               components::to_string(components::exact_shape(tensor.shape)), tensor.xxh128});
    bytes += artifacts::count_bytes(tensor.shape, artifacts::find_stored_type(tensor.dtype)->bytes).value_or(0);
  }
  reporting::write_output("not in the checkpoint: {} frozen parameters, {}, which have their initial values\n",
                          manifest.excluded.size(), support::format_bytes(bytes));
  reporting::write_output_text(table.format("  "));
}

void print_tensors(const std::filesystem::path& path, const SafetensorsFile& file) {
  reporting::TextTable table("lllr");
  table.add({"tensor", "dtype", "shape", "bytes"});
  uint64_t bytes = 0, elements = 0;
  for (const TensorView& tensor : file.tensors()) {
    table.add({tensor.name, components::dtype_name(tensor.dtype), format_shape(tensor),
               reporting::group_digits(tensor.bytes)});
    bytes += tensor.bytes;
    elements += tensor.bytes / artifacts::find_stored_type(tensor.dtype)->bytes;
  }
  reporting::write_output("{}: {} tensors, {} values, {}\n", path.filename().string(), file.tensors().size(),
                          reporting::group_digits(elements), support::format_bytes(bytes));
  for (const auto& [key, value] : file.metadata()) reporting::write_output("  {} = {}\n", key, value);
  reporting::write_output_text(table.format("  "));
}

Json to_json(const std::filesystem::path& path, const SafetensorsFile& file) {
  Json tensors = Json::array();
  for (const TensorView& tensor : file.tensors())
    tensors.push_back({{"name", tensor.name},
                       {"dtype", components::dtype_name(tensor.dtype)},
                       {"shape", tensor.shape},
                       {"bytes", tensor.bytes}});
  return {{"name", path.filename().string()}, {"metadata", file.metadata()}, {"tensors", tensors}};
}

// Does not verify the digests, so that the readable parts of a damaged checkpoint are shown.
int show_checkpoint(const Arguments& arguments) {
  const InspectedFiles files = find_inspected_files(arguments.positional().front());
  Json all{{"path", files.path.string()},
           {"manifest", files.manifest ? read_whole_manifest(files) : Json()},
           {"files", Json::array()}};
  const bool as_json = arguments.wants_json();
  if (!as_json) reporting::write_output("{}\n", describe(files));
  if (!as_json && files.manifest) print_manifest(files);
  for (const std::filesystem::path& path : files.tensor_files) {
    const SafetensorsFile file(path);
    if (as_json)
      all["files"].push_back(to_json(path, file));
    else
      print_tensors(path, file);
  }
  if (as_json)
    reporting::write_output_json(all);
  else if (files.manifest)
    print_excluded(*files.manifest);
  return 0;
}

}  // namespace

extern const Command show_checkpoint_command{
    .name = "checkpoint show",
    .arguments = "PATH",
    .purpose = "show the contents of a checkpoint",
    .details =
        "Shows the tensors and settings of a checkpoint, of the newest checkpoint of a run, or of a safetensors file.",
    .page = "guides/checkpoint_tools.md",
    .add_options = add_json_option,
    .run = show_checkpoint};

}  // namespace tenon::host
