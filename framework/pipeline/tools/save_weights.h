// Saves a model's weights for Python: as a safetensors file, or with the model as an archive of torch.export.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "framework/components/kinds/model.h"
#include "framework/config/values/class_names.h"

namespace tenon::pipeline {

// Writes every tensor, in order, and returns their number. `dtype`: the dtype for floating-point tensors; Undefined:
// unchanged. A tensor with several names is written once, under the first name in alphabetical order. The metadata maps
// each other name to it, as safetensors.torch.save_model and load_model do. `class_names`: see
// artifacts::make_weights_metadata. `more`: further entries of the metadata, by name.
// Throws Error(configuration) if the file cannot be written, and naming the tensor if a finite value would become
// infinite in `dtype`.
size_t save_weights(const std::filesystem::path& file, const std::vector<components::NamedTensor>& tensors,
                    at::ScalarType dtype, const config::ClassNames& class_names = {},
                    const std::map<std::string, std::string>& more = {});

// Copies the archive `source` of torch.export to `file`. Each tensor that data/weights/*_weights_config.json lists has
// the value of the tensor with that name, in the layout of the archive. All other records are copied as they are.
// `tensors`: of the model, with those under further names. `extra_files`: texts by name, which load_pt2() in Python
// returns as `extra_files`. Returns the number of names. Throws Error(configuration) if a tensor is only in the archive
// or only in the model, if sizes differ, or if a file cannot be read or written.
size_t save_archive(const std::filesystem::path& source, const std::filesystem::path& file,
                    const std::vector<components::NamedTensor>& tensors,
                    const std::map<std::string, std::string>& extra_files = {});

}  // namespace tenon::pipeline
