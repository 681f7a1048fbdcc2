// Loads weights from a file into a model, see WeightsFile.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "framework/components/kinds/model.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::pipeline {

// Copies every tensor of the file into the model's tensor of the same name; artifacts::match_weights() defines how
// names and dtypes match. The log shows the result for each tensor.
// A file of a checkpoint is checked against the checkpoint's manifest first: damaged weights throw Error(checkpoint).
// Strict: throws Error(checkpoint) naming the file and every tensor that is missing, unexpected, or has another dtype
// or shape. Partial: loads what fits and warns about the rest; throws Error(checkpoint) if nothing fits, or if the
// largest tensor of the model does not. Both refuse transposed matrices by name. `exclude`: patterns of tensor names,
// where `*` matches anything; such tensors keep their values in the model and are ignored in the file. `rename`: new
// names of the file's tensors by pattern, such as "backbone.*" = "*". The longest pattern that matches applies. If it
// throws, the model is unchanged.
//
// Tensors for another image size or number of channels are converted with a warning, see adapt_weight(), unless they
// are those of the run. Throws Error(checkpoint) for NaN.
//
// If a checkpoint leaves out frozen parameters, the model must have their values already, which are compared with the
// digests in the manifest. Strict: throws Error(checkpoint) naming the first that differs. Partial: such a parameter is
// missing in the file.
struct WeightsRequest {
  config::WeightsMatch match = config::WeightsMatch::strict;
  std::vector<std::string> exclude = {};
  std::map<std::string, std::string> rename = {};
  std::string initial_weights = {};              // what the values of the model come from, for messages
  bool is_of_run = false;                        // the weights of the run's own checkpoint, which must fit
  const config::ComponentPlan* model = nullptr;  // for check_timm_weights(); null: not checked
};
void load_weights(const std::filesystem::path& file, std::vector<components::NamedTensor> tensors,
                  const WeightsRequest& request = {});

}  // namespace tenon::pipeline
