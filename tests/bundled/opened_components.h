// Components of the bundled plugins, opened as the host opens them.
#pragma once

#include <string>

#include "framework/plugins/loss.h"
#include "framework/plugins/metric.h"
#include "framework/plugins/model.h"

namespace tenon::bundled {

// What `params` does not say is the schema's default.
plugins::Model open_model(const std::string& id, const config::Values& params = {});
plugins::Loss open_loss(const std::string& id, const config::Values& params = {});
plugins::Metric open_metric(const std::string& id, const config::Values& params = {});

// From the formulas that make_metrics.py has too: by place, without a pattern that rows or classes could share.
// Multiples of 1 / scale, float64.
at::Tensor numbers(const std::vector<int64_t>& shape, int64_t batch, double scale);
// In [first, end), int64.
at::Tensor classes(const std::vector<int64_t>& shape, int64_t batch, int64_t first, int64_t end);

}  // namespace tenon::bundled
