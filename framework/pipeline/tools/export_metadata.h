// What a program needs to use an exported model without its run: a text in the file, which
// docs/guides/exported_models.md describes.
#pragma once

#include <string>
#include <vector>

#include "framework/components/kinds/dataset.h"
#include "framework/components/kinds/model.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::pipeline {

inline constexpr const char* kExportMetadata = "tenon.json";  // its name in a file

// `data`: the dataset that gives the inputs. Null: shapes and dtypes are those that the model declares, and
// there is no preprocessing. `outputs`: of the model for samples of `data`, or none. Parameters that are paths are left
// out, because the file may go to others. Returns JSON on one line. Throws Error(configuration) if the data do not fit
// the model.
std::string format_export_metadata(const config::RunPlan& plan, const components::Model& model,
                                   const components::Dataset* data, const std::vector<at::Tensor>& outputs);

// Returns the steps that make a field: those of the dataset, then the normalisation of whole batches. JSON as in
// tenon/preprocessing.h, "null" if there are none.
std::string format_field_steps(const config::RunPlan& plan, const components::Dataset& data, const std::string& field);

}  // namespace tenon::pipeline
