#include "framework/profiling/batch_size_search.h"

#include <algorithm>
#include <utility>

namespace tenon::profiling {
namespace {

constexpr int64_t kFirst = 2;  // batch norms refuse to train on one value per channel
constexpr int64_t kMultiple = 8;

class Search {
 public:
  Search(const BatchSizeLimits& limits, const MeasureBatchSize& measure) : limits_(limits), measure_(measure) {}

  BatchSizeSearch run() {
    const int64_t first = std::min(kFirst, limits_.samples);
    if (!fits(first)) {
      if (first > 1) fits(1);
      return take();
    }
    while (largest() < limits_.samples) {
      const int64_t next = std::min(2 * largest(), limits_.samples);
      if (fits(next)) continue;
      divide(next);
      break;
    }
    return take();
  }

 private:
  int64_t largest() const { return fitting_.empty() ? 0 : fitting_.back().batch_size; }

  // While batches are small, the peak may be the optimizer's and not grow. So the slope is at least that of the memory
  // that forward keeps for backward. Backward needs about as much again for the gradients of these tensors.
  double predict(int64_t size) const {
    const BatchSizeTrial& last = fitting_.back();
    const auto samples = static_cast<double>(last.batch_size);
    const double saved = static_cast<double>(last.saved_bytes) / samples;
    double slope = std::min(static_cast<double>(last.peak_bytes - last.fixed_bytes) / samples, 2 * saved);
    if (fitting_.size() > 1) {
      const BatchSizeTrial& before = fitting_[fitting_.size() - 2];
      slope = static_cast<double>(last.peak_bytes - before.peak_bytes) /
              static_cast<double>(last.batch_size - before.batch_size);
      slope = std::max(slope, saved);
    }
    return static_cast<double>(last.peak_bytes) + slope * static_cast<double>(size - last.batch_size);
  }

  bool fits(int64_t size) {
    if (!fitting_.empty() && predict(size) > static_cast<double>(limits_.bytes)) return false;
    const std::optional<BatchSizeTrial> trial = measure_(size);
    if (!trial) return false;
    const bool is_within = trial->peak_bytes <= limits_.bytes;
    (is_within ? fitting_ : others_).push_back(*trial);
    return is_within;
  }

  // REQUIRES: largest() fits and `above` does not.
  void divide(int64_t above) {
    while (true) {
      const int64_t step = above > kMultiple ? kMultiple : 1;
      // A middle that is a multiple of the step.
      int64_t middle = (largest() + above) / 2 / step * step;
      if (middle <= largest()) middle = (largest() / step + 1) * step;
      if (middle >= above) return;
      if (!fits(middle)) above = middle;
    }
  }

  BatchSizeSearch take() {
    BatchSizeSearch search{std::move(fitting_), 0, false};
    if (!search.trials.empty()) search.largest = search.trials.back().batch_size;
    search.has_all_samples = search.largest == limits_.samples;
    search.trials.insert(search.trials.end(), others_.begin(), others_.end());
    std::ranges::sort(search.trials, {}, &BatchSizeTrial::batch_size);
    return search;
  }

  const BatchSizeLimits limits_;
  const MeasureBatchSize& measure_;
  std::vector<BatchSizeTrial> fitting_;  // by ascending batch size
  std::vector<BatchSizeTrial> others_;
};

}  // namespace

BatchSizeSearch search_batch_size(const BatchSizeLimits& limits, const MeasureBatchSize& measure) {
  return Search(limits, measure).run();
}

}  // namespace tenon::profiling
