// Opens components of the bundled plugins like the host does.
#pragma once

#include <string>

#include "framework/components/kinds/loss.h"
#include "framework/components/kinds/metric.h"
#include "framework/components/kinds/model.h"

namespace tenon::bundled {

// Parameters that are missing in `params` have the defaults of the schema.
components::Model open_model(const std::string& id, const config::Values& params = {});
components::Loss open_loss(const std::string& id, const config::Values& params = {});
components::Metric open_metric(const std::string& id, const config::Values& params = {});

// Computes pseudorandom numbers from their position, so that rows and classes share no pattern. Returns multiples of
// 1 / scale, float64.
at::Tensor numbers(const std::vector<int64_t>& shape, int64_t batch, double scale);
// Returns integers in [first, end), int64.
at::Tensor classes(const std::vector<int64_t>& shape, int64_t batch, int64_t first, int64_t end);

}  // namespace tenon::bundled
