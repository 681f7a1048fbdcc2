#include "framework/pipeline/tools/learning_rate_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/pipeline/loop/train_step.h"
#include "framework/pipeline/losses/loss_sums.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

namespace {

constexpr double kSmoothing = 0.9;  // of the exponential moving average
constexpr double kDivergence = 4;   // times the lowest smoothed loss
constexpr size_t kFirstTrials = 5;  // the average is not yet stable in these
constexpr size_t kHalfWindow = 3;   // trials on each side for fitting a slope

// An endless sequence of batches over successive epochs.
class EndlessBatches {
 public:
  explicit EndlessBatches(Training& training) : training_(training) {}

  const data::Batch& next() {
    while (true) {
      if (epoch_ == 0) begin_epoch();
      const data::Batch* batch = training_.train->feed.next();
      if (batch && batch->size > 0) return *batch;
      if (!batch) begin_epoch();
    }
  }

  int64_t epoch() const { return epoch_; }

 private:
  void begin_epoch() {
    training_.train->feed.start(++epoch_);
    training_.optimizer->start_epoch(epoch_);
  }

  Training& training_;
  int64_t epoch_ = 0;
};

// A least-squares fit over the logarithm of the rate.
double slope(const std::vector<LearningRateTrial>& trials, size_t begin, size_t end) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (size_t i = begin; i < end; ++i) {
    const double rate = std::log(trials[i].learning_rate);
    x += rate;
    y += trials[i].smoothed;
    xx += rate * rate;
    xy += rate * trials[i].smoothed;
  }
  const auto count = static_cast<double>(end - begin);
  return (count * xy - x * y) / (count * xx - x * x);
}

}  // namespace

// With windows of three trials that are cut at the ends, a loss that falls below the first has a negative slope.
std::optional<size_t> suggest_learning_rate(const std::vector<LearningRateTrial>& trials) {
  const size_t first = std::min(kFirstTrials, trials.size() / 4);
  for (size_t half = kHalfWindow; half > 0; --half) {
    std::optional<size_t> best;
    double steepest = 0;
    for (size_t i = first; i < trials.size(); ++i) {
      const size_t from = std::max(first, i - std::min(i, half)), to = std::min(trials.size(), i + half + 1);
      const double fall = to - from < 2 ? 0 : -slope(trials, from, to);
      if (fall <= steepest) continue;
      steepest = fall;
      best = i;
    }
    if (best) return best;
  }
  return std::nullopt;
}

LearningRateSearch search_learning_rate(Training& training, double first, double last, int64_t steps,
                                        const std::function<bool()>& should_continue) {
  LossSums losses(training.losses);
  TrainStep step(
      training, [](Event) {},
      [&](const StepMetrics& metrics) {
        losses.reset();
        for (const LossSums& batch : metrics.losses) losses.add(batch);
      });
  LearningRateSearch search{{}, false, {}};
  EndlessBatches batches(training);
  double mean = 0, lowest = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < steps && !search.diverged && should_continue(); ++i) {
    const double rate = first * std::pow(last / first, static_cast<double>(i) / static_cast<double>(steps - 1));
    try {
      for (int64_t k = 0; k < training.plan->train.accumulate; ++k) {
        const data::Batch& batch = batches.next();
        step.run_batch(batch, {true, i, batches.epoch(), 0, 1, training.plan->run.seed});
      }
      step.finish_step({rate}, /*with_norm=*/false);
      step.drain();
    } catch (const support::Error& error) {
      if (error.kind() != support::ErrorKind::non_finite) throw;
      search.diverged = true;
      break;
    }
    mean = kSmoothing * mean + (1 - kSmoothing) * losses.total();
    const double smoothed = mean / (1 - std::pow(kSmoothing, static_cast<double>(i + 1)));
    search.trials.push_back({rate, losses.total(), smoothed});
    search.diverged = search.trials.size() > kFirstTrials && smoothed > kDivergence * lowest;
    lowest = std::min(lowest, smoothed);
  }
  search.suggestion = suggest_learning_rate(search.trials);
  return search;
}

}  // namespace tenon::pipeline
