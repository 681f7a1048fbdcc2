// The report of `host data` as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "host/data/check_data.h"

namespace tenon::host {

void print_data_report(const DataReport& report);
nlohmann::ordered_json describe_data_report(const DataReport& report);

void print_findings(const std::vector<Finding>& findings);
nlohmann::ordered_json describe_findings(const std::vector<Finding>& findings);

// "[3, 20-64, 48]": the extents of the smallest and the largest sample.
std::string format_shape_range(const std::vector<int64_t>& smallest, const std::vector<int64_t>& largest);

}  // namespace tenon::host
