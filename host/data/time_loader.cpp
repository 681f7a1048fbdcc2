#include "host/data/time_loader.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "host/process/signals.h"

namespace tenon::host {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

int64_t count_bytes(const components::Dataset& dataset, const data::Batch& batch) {
  int64_t bytes = 0;
  for (size_t k = 0; k < batch.fields.size(); ++k) {
    int64_t field = static_cast<int64_t>(dataset.fields()[k].element_bytes);
    for (const int64_t extent : batch.fields[k].shape) field *= extent;
    bytes += field;
  }
  return bytes;
}

}  // namespace

LoaderTiming time_loader(data::Feed& feed, double seconds, double step_s) {
  LoaderTiming timing;
  auto begin = Clock::now();
  data::LoaderTimes before{};
  bool is_first = true;
  for (int64_t epoch = 1; is_first || timing.seconds < seconds; ++epoch) {
    feed.start(epoch);
    while (const data::Batch* batch = feed.next()) {
      const auto taken = Clock::now();
      if (is_first) {
        timing.first_batch_s = seconds_since(begin);
        before = feed.loader().times();
        begin = taken;
        is_first = false;
      } else {
        ++timing.batches;
        timing.samples += batch->size;
        timing.bytes += count_bytes(feed.dataset(), *batch);
      }
      if (step_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(step_s));
      timing.seconds = seconds_since(begin);
      if (timing.seconds >= seconds || stop_signal() != 0) break;
    }
    if (stop_signal() != 0) break;
  }
  timing.times = feed.loader().times() - before;
  return timing;
}

nlohmann::ordered_json describe_timing(const LoaderTiming& timing, int64_t workers) {
  const data::LoaderTimes& times = timing.times;
  const double samples = static_cast<double>(std::max<int64_t>(timing.samples, 1));
  const double thread_s = times.reading_s + times.completing_s + times.idle_s;
  nlohmann::ordered_json json{{"seconds", timing.seconds},
                              {"first_batch_s", timing.first_batch_s},
                              {"samples", timing.samples},
                              {"batches", timing.batches},
                              {"bytes", timing.bytes},
                              {"samples_per_s", static_cast<double>(timing.samples) / timing.seconds},
                              {"bytes_per_s", static_cast<double>(timing.bytes) / timing.seconds},
                              {"read_ms_per_sample", 1e3 * times.reading_s / samples},
                              {"complete_ms_per_sample", 1e3 * times.completing_s / samples},
                              {"wait_share", times.waiting_s / timing.seconds}};
  if (workers > 0) json["busy_share"] = thread_s > 0 ? 1 - times.idle_s / thread_s : 0;
  return json;
}

}  // namespace tenon::host
