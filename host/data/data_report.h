// The reports of `host data`, on samples and on the loader.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/data/feed.h"
#include "host/data/check_data.h"

namespace tenon::host {

void print_data_report(const DataReport& report);
nlohmann::ordered_json describe_data_report(const DataReport& report);

void print_findings(const std::vector<Finding>& findings);
nlohmann::ordered_json describe_findings(const std::vector<Finding>& findings);

struct LoaderTiming {
  double first_batch_s = 0;  // includes the start of the threads
  double seconds = 0;
  int64_t samples = 0;
  int64_t batches = 0;
  int64_t bytes = 0;
  data::LoaderTimes times = {};
};

// Reads epochs until the time is over. Timing begins with the second batch: the first one waits for the threads.
// `step_s`: the simulated duration of a training step. Ends early after a signal to stop.
LoaderTiming time_loader(data::Feed& feed, double seconds, double step_s);

nlohmann::ordered_json describe_timing(const LoaderTiming& timing, int64_t workers);

}  // namespace tenon::host
