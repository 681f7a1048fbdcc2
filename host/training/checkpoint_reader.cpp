#include "host/training/checkpoint_reader.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::host {

namespace fs = std::filesystem;

artifacts::ReadCheckpointFile CheckpointReader::reading() {
  return [this](const fs::path& file) {
    const bool has_tensors = !artifacts::name_content(file.filename().string()).empty();
    if (has_tensors) read(file, place_of(file));
    return artifacts::read_checkpoint_digest(file);
  };
}

std::vector<optimization::NamedTensor> CheckpointReader::take(bool of_model) {
  std::vector<optimization::NamedTensor> taken;
  for (auto& [name, file] : files_) {
    if (artifacts::is_model_file(name) != of_model) continue;
    if (file.failure) std::rethrow_exception(file.failure);
    std::ranges::move(file.tensors, std::back_inserter(taken));
    file.tensors.clear();
  }
  return taken;
}

CheckpointReader::Tensors& CheckpointReader::place_of(const fs::path& file) {
  const std::lock_guard lock(mutex_);
  if (file.parent_path() != folder_) files_.clear();
  folder_ = file.parent_path();
  return files_[file.filename().string()];
}

// Parse errors are kept for later: the digest reports a damaged file first, wherever the damage is.
void CheckpointReader::read(const fs::path& file, Tensors& read) {
  read = {};
  try {
    read.tensors = pipeline::map_tensors(std::make_shared<const artifacts::SafetensorsFile>(file));
  } catch (const support::Error&) {
    read.failure = std::current_exception();
  }
}

}  // namespace tenon::host
