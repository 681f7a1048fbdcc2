// manifest.json of a checkpoint: the position of the run, and the size and digest of every file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/config/values/class_names.h"

namespace tenon::artifacts {

struct CheckpointFile {
  std::string name;  // within the checkpoint folder
  uint64_t bytes;
  std::string xxh128;  // 32 lower-case hexadecimal digits
};

struct CheckpointManifest {
  int64_t epoch;
  int64_t step;
  MetricValues metrics;  // the latest metrics at that time
  std::vector<CheckpointFile> files;
  std::map<std::string, double> state = {};  // training state besides the tensors; empty: a run cannot resume
  config::ClassNames class_names = {};       // the numbering of classes that the weights know
};

// Equal manifests give equal bytes.
std::string print_checkpoint_manifest(const CheckpointManifest& manifest);

// Returns the metrics sorted by name. `file` is for messages. Throws Error(checkpoint) if the text is not JSON, if a
// key is duplicate, missing or of the wrong type, if the format version is unknown, or if a file name points out of the
// folder. Manifests of the first versions, which have other keys, are read too.
CheckpointManifest parse_checkpoint_manifest(std::string_view text, const std::filesystem::path& file);

}  // namespace tenon::artifacts
