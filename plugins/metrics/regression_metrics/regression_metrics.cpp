// Regression metrics: mean absolute error, root mean squared error, and the coefficient of determination, as in
// torchmetrics and scikit-learn.
#include "plugins/metrics/predictions.h"

#include <cmath>

namespace {

using tenon::Tensor;

// ...S: the same further dimensions on both sides, so that nothing is broadcast unintentionally.
std::vector<tenon::Port> prediction_and_target(const std::string& rest) {
  return {tenon::input("prediction", "N," + rest, TENON_ANY_FLOAT, "predicted values"),
          tenon::input("target", "N," + rest, TENON_ANY_FLOAT, "target values")};
}

class MeanOfErrors {
 public:
  std::vector<tenon::Port> ports() const { return prediction_and_target("...S"); }

  std::vector<tenon::State> states() const { return {{"sum", TENON_FLOAT64}, {"total", TENON_INT64}}; }

 protected:
  static Tensor difference(const tenon::Inputs& inputs) {
    return tenon::to_dtype(inputs[0], TENON_FLOAT64) - tenon::to_dtype(inputs[1], TENON_FLOAT64);
  }

  static void add(const tenon::Frame& frame, const Tensor& errors) {
    frame.tensor(kSum) += tenon::sum(errors);
    frame.tensor(kTotal) += errors.numel();
  }

  static double mean(const tenon::Frame& frame) {
    return tenon::metrics::share(frame.tensor(kSum).number(), frame.tensor(kTotal).number());
  }

 private:
  enum : uint64_t { kSum, kTotal };
};

class Mae final : public MeanOfErrors {
 public:
  std::vector<tenon::MetricValue> values() const {
    return {tenon::lower_is_better("mae", "mean of |prediction - target|, in the target's unit")};
  }
  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    add(frame, tenon::abs(difference(inputs)));
  }
  double compute(const tenon::Frame& frame) const { return mean(frame); }
};

class Rmse final : public MeanOfErrors {
 public:
  std::vector<tenon::MetricValue> values() const {
    return {tenon::lower_is_better("rmse", "root of the mean of (prediction - target)^2, in the target's unit")};
  }
  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const Tensor error = difference(inputs);
    add(frame, error * error);
  }
  double compute(const tenon::Frame& frame) const { return std::sqrt(mean(frame)); }
};

// 1 - (sum of squared errors) / (sum of squared deviations of the targets from their mean). Each batch adds a row with
// its mean and the deviations from that mean. The rows are combined as in Chan, Golub, LeVeque, "Updating Formulae and
// a Pairwise Algorithm for Computing Sample Variances", 1979. A difference of sums of squares would lose all digits for
// targets far from 0.
class R2 final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("outputs", 1)
                .range("[1, 1e9]")
                .doc("number of separate outputs per sample; r2 is the mean over them; 1: all values are one output")};
  }

  explicit R2(const tenon::Params& params) : outputs_(params.integer("outputs")) {}

  std::vector<tenon::Port> ports() const {
    return prediction_and_target(outputs_ == 1 ? "...S" : std::to_string(outputs_));
  }

  std::vector<tenon::State> states() const { return {tenon::rows("batches", TENON_FLOAT64, {kColumns, outputs_})}; }

  std::vector<tenon::MetricValue> values() const {
    return {tenon::higher_is_better("r2", "fraction of the variance of the targets that is predicted, at most 1")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const int64_t count = inputs[1].numel() / outputs_;
    if (count == 0) return;
    const Tensor prediction = tenon::to_dtype(tenon::reshape(inputs[0], {count, outputs_}), TENON_FLOAT64);
    const Tensor target = tenon::to_dtype(tenon::reshape(inputs[1], {count, outputs_}), TENON_FLOAT64);
    const Tensor error = prediction - target;
    const Tensor mean = tenon::mean(target, {0}, /*keep_dims=*/true);
    const Tensor distance = target - mean;
    const Tensor row = tenon::cat({tenon::ones_like(mean) * count, mean, tenon::sum(distance * distance, {0}, true),
                                   tenon::sum(error * error, {0}, true)},
                                  0);
    frame.append(0, tenon::unsqueeze(row, 0));
  }

  double compute(const tenon::Frame& frame) const {
    const Tensor state = frame.tensor(0);
    const int64_t batches = state.shape()[0];
    double sum = 0;
    for (int64_t output = 0; output < outputs_; ++output) sum += r2_of(state.data<double>() + output, batches);
    return sum / static_cast<double>(outputs_);
  }

 private:
  enum : int64_t { kCount, kMean, kDistances, kErrors, kColumns };

  double r2_of(const double* rows, int64_t batches) const {
    double count = 0, mean = 0, distances = 0, errors = 0;
    for (int64_t i = 0; i < batches; ++i) {
      const double* const row = rows + i * kColumns * outputs_;
      const double more = row[kCount * outputs_];
      const double shift = row[kMean * outputs_] - mean;
      const double all = count + more;
      distances += row[kDistances * outputs_] + shift * shift * (count * more / all);
      mean += shift * (more / all);
      errors += row[kErrors * outputs_];
      count = all;
    }
    if (count < 2 || std::isnan(errors) || std::isnan(distances)) return tenon::metrics::kNone;
    if (errors == 0) return 1;
    return distances == 0 ? 0 : 1 - errors / distances;
  }

  int64_t outputs_;
};

}  // namespace

TENON_PLUGIN("regression_metrics", "0.1.0", "Apache-2.0", "Regression metrics.",
             tenon::metric<Mae>("mae", "mean absolute error"), tenon::metric<Rmse>("rmse", "root mean squared error"),
             tenon::metric<R2>("r2", "coefficient of determination"))
