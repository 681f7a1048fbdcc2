// Saves a model's weights in a copy of the .pt2 archive that describes the model.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "framework/components/kinds/model.h"

namespace tenon::pipeline {

// Copies the archive `source` of torch.export to `file`. Each tensor that data/weights/*_weights_config.json lists has
// the value of the tensor with that name, in the layout of the archive. All other records are copied as they are.
// `tensors`: of the model, with those under further names. `extra_files`: texts by name, which load_pt2() in Python
// returns as `extra_files`. Returns the number of names. Throws Error(configuration) if a tensor is only in the archive
// or only in the model, if sizes differ, or if a file cannot be read or written.
size_t save_archive(const std::filesystem::path& source, const std::filesystem::path& file,
                    const std::vector<components::NamedTensor>& tensors,
                    const std::map<std::string, std::string>& extra_files = {});

}  // namespace tenon::pipeline
