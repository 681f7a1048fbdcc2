// manifest.json of a checkpoint: the position of the run, and the size and digest of every file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/config/values/class_names.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"

namespace tenon::artifacts {

struct CheckpointFile {
  std::string name;  // within the checkpoint folder
  uint64_t bytes;
  std::string xxh128;  // 32 lower-case hexadecimal digits
};

// A frozen parameter that is not in the files of the model: it has the model's initial value.
struct ExcludedTensor {
  std::string name;
  int32_t dtype;  // TENON_FLOAT32, ...
  std::vector<int64_t> shape;
  std::string xxh128;  // of the elements as safetensors stores them: contiguous, row-major, little-endian

  bool operator==(const ExcludedTensor&) const = default;
};

struct ExcludedTensors {
  std::filesystem::path manifest;  // the file that lists them, for messages
  std::vector<ExcludedTensor> tensors;
};

struct CheckpointManifest {
  int64_t epoch;
  int64_t step;
  NamedMetrics metrics;  // the latest metrics at that time
  std::vector<CheckpointFile> files = {};
  std::map<std::string, double> state = {};   // training state besides the tensors; empty: a run cannot resume
  config::ClassNames class_names = {};        // the numbering of classes that the weights know
  std::vector<ExcludedTensor> excluded = {};  // the frozen parameters that are left out, in the model's order
};

inline constexpr const char* kExcludedFrozenParameters = "excluded_frozen_parameters";  // key of the manifest

// Equal manifests give equal bytes.
std::string format_checkpoint_manifest(const CheckpointManifest& manifest);

// Throws Error(checkpoint): `PATH: MESSAGE`, where the message is fmt::format(format, values...).
template <class... Values>
[[noreturn]] void refuse_checkpoint(const std::filesystem::path& path, fmt::format_string<Values...> format,
                                    Values&&... values) {
  support::refuse_path(support::ErrorKind::checkpoint, path, fmt::format(format, std::forward<Values>(values)...));
}

// Returns the metrics sorted by name. `file` is for messages. Throws Error(checkpoint) if the text is not JSON, if a
// key is duplicate, missing or of the wrong type, if the format version is unknown, or if a file name points out of the
// folder.
CheckpointManifest parse_checkpoint_manifest(std::string_view text, const std::filesystem::path& file);

}  // namespace tenon::artifacts
