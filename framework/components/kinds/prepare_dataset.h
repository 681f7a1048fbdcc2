// The extension TENON_PREPARE of datasets.
#pragma once

#include "framework/components/calls/component.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::components {

// Whether the component has the extension TENON_PREPARE. Throws Error as call_plugin does.
bool has_preparation(const Component& dataset);

// Prepares the files of a dataset, which may take long. Does nothing without the extension. Call it before the dataset
// is created. Throws Error as call_plugin does.
void prepare_dataset(const Component& dataset, const config::ComponentPlan& plan);

}  // namespace tenon::components
