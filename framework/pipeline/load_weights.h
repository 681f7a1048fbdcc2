// Weights from a safetensors file into a model.
#pragma once

#include <filesystem>
#include <vector>

#include "framework/config/run_plan.h"
#include "framework/plugins/model.h"

namespace tenon::pipeline {

// Copies every tensor of the file into the model's of the same name, see artifacts::match_weights() for what counts as
// that and for dtypes. The log has what became of each tensor.
// A file of a checkpoint is compared with the checkpoint's manifest first: damaged weights throw Error(checkpoint).
// Strict: throws Error(checkpoint) naming the file and every tensor that is missing, unexpected, or of another dtype or
// shape. Partial: loads what fits, and warns of the rest; throws Error(checkpoint) if nothing fits. Where it throws,
// the model is unchanged.
void load_weights(const std::filesystem::path& file, const std::vector<plugins::NamedTensor>& tensors,
                  config::WeightsMatch match = config::WeightsMatch::strict);

}  // namespace tenon::pipeline
