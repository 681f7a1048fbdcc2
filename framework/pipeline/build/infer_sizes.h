// Sizes that the run file leaves out, because the data or the weights know them: numbers of classes, channels, values
// and tokens. Components declare such parameters with tenon/parameter_roles.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/components/kinds/dataset.h"
#include "framework/components/loading/catalogue.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::pipeline {

// A size of the plan that the run file leaves out and that is not known yet.
struct OpenSize {
  std::string key;  // as in plan.toml: "model.params.classes", "data.batch_transform[0].classes"
  uint32_t role;    // TENON_ROLE_CLASSES ...
  int64_t* value;   // in the plan
  config::Interval range;
  std::vector<std::string> fields;     // the fields that the run file connects the component to; empty: none
  std::vector<std::string>* left_out;  // the list of the plan that has the parameter
  std::string parameter;
};

// The open sizes of the model, the losses, the metrics and the batch transforms. They refer to the plan. Opens the
// plugins of these components. Throws Error(plugin) for invalid roles.
std::vector<OpenSize> list_open_sizes(config::RunPlan& plan, const components::Catalogue& catalogue);

// Sets a size, which then is no longer open, and returns true. Returns false for a value out of the parameter's range.
bool close(const OpenSize& size, int64_t value);

// Sets the open sizes that the weights know. Returns what was set, for the log: "model.params.classes = 3".
std::vector<std::string> use_sizes_of_weights(config::RunPlan& plan, const components::Catalogue& catalogue,
                                              const artifacts::ModelSizes& sizes);

// Sets the open sizes that the dataset knows without ambiguity. Throws Error(configuration) if the number of classes of
// a batch transform remains unknown.
std::vector<std::string> use_sizes_of_data(config::RunPlan& plan, const components::Catalogue& catalogue,
                                           const components::Dataset& dataset);

// Copies the sizes of a plan that has been completed to another one of the same run file.
void copy_sizes(const config::RunPlan& completed, config::RunPlan& plan);

// The sizes of a model, for the metadata of its weights.
artifacts::ModelSizes list_model_sizes(const config::ComponentPlan& plan, const components::Component& component);

}  // namespace tenon::pipeline
