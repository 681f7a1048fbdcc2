// manifest.json of a checkpoint: where the run stood, and the size and digest of every file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/figures.h"

namespace tenon::artifacts {

struct CheckpointFile {
  std::string name;  // within the checkpoint's folder
  uint64_t bytes;
  std::string xxh128;  // 32 lower-case hexadecimal digits
};

struct CheckpointManifest {
  int64_t epoch;
  int64_t step;
  Figures figures;  // the latest ones at the time
  std::vector<CheckpointFile> files;
  std::map<std::string, double> state = {};  // what a run goes on from, beside the tensors; empty: it cannot
};

// The same manifest always gives the same bytes.
std::string print_checkpoint_manifest(const CheckpointManifest& manifest);

// The figures come back sorted by name. `file` is for messages. Throws Error(checkpoint): not JSON, a key twice,
// missing or of the wrong type, a format version that this Tenon does not know, a file name that leads out of the
// folder.
CheckpointManifest parse_checkpoint_manifest(std::string_view text, const std::filesystem::path& file);

}  // namespace tenon::artifacts
