// Opens components of the bundled plugins like the host does.
#pragma once

#include <string>

#include "framework/components/kinds/loss.h"
#include "framework/components/kinds/metric.h"
#include "framework/components/kinds/model.h"

namespace tenon::bundled {

// Parameters that are missing in `params` have the defaults of the schema.
components::Model open_model(const std::string& id, const config::Values& params = {});
// The same, with its tensors.
components::Model build_model(const std::string& id, const config::Values& params = {});
components::Loss open_loss(const std::string& id, const config::Values& params = {});
components::Metric open_metric(const std::string& id, const config::Values& params = {});

// Returns the parameters with these changes.
config::Values merged(config::Values params, const config::Values& changes);

// Computes pseudorandom numbers from their position, so that rows and classes share no pattern. Returns multiples of
// 1 / scale, float64.
at::Tensor numbers(const std::vector<int64_t>& shape, double scale);

}  // namespace tenon::bundled
