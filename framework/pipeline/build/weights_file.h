// A file of weights: safetensors, safetensors in several files with an index, or a state_dict of torch.save.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/checkpoint/tensor_view.h"

namespace tenon::pipeline {

class WeightsFile {
 public:
  // Opens a file by its content:
  //
  // - safetensors;
  // - an index `*.safetensors.index.json` as of Hugging Face, or a folder with one or with `model.safetensors`;
  // - a zip archive of torch.save (PyTorch 1.6 or later) with a state_dict, see artifacts::parse_state_dict(). Nothing
  //   in it is executed. Its tensors are copied into memory.
  //
  // Throws Error(checkpoint) naming the file, what was found and what was expected.
  explicit WeightsFile(const std::filesystem::path& path);
  WeightsFile(const WeightsFile&) = delete;
  WeightsFile& operator=(const WeightsFile&) = delete;

  // Valid as long as this object.
  const std::vector<artifacts::TensorView>& tensors() const { return tensors_; }

 private:
  void open_index(const std::filesystem::path& index);
  void open_archive(const std::filesystem::path& file);

  std::vector<std::unique_ptr<artifacts::SafetensorsFile>> files_;
  std::vector<std::vector<std::byte>> copies_;
  std::vector<artifacts::TensorView> tensors_;
};

}  // namespace tenon::pipeline
