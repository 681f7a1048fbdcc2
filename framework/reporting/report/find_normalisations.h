// How the images of a dataset were normalised, to show them in their true colours.
#pragma once

#include "framework/artifacts/drawing/render_samples.h"
#include "framework/components/kinds/dataset.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::reporting {

// Returns the fields with one step `normalize` that has `mean` and `std`, see tenon/preprocessing.h.
artifacts::Normalisations find_normalisations(const config::RunPlan& plan, const components::Dataset& data);

}  // namespace tenon::reporting
