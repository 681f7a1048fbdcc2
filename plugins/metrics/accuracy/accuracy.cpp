// Top-k classification accuracy: the fraction of targets that are among the k largest logits.
#include "plugins/metrics/predictions.h"

namespace {

using tenon::Tensor;

class Accuracy final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("ignore_index", -100).range("[-1e9, 1e9]").doc("target value that is ignored"),
            tenon::param("top_k", 1)
                .range("[1, 1e9]")
                .doc("a prediction is correct if the logit of the target is among the top_k largest")};
  }

  explicit Accuracy(const tenon::Params& params)
      : ignore_index_(params.integer("ignore_index")), top_k_(params.integer("top_k")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,C,...S", TENON_ANY_FLOAT, "scores of the classes"),
            tenon::input("target", "N,...S", tenon::metrics::kInt64, "class in [0, C), or ignore_index")};
  }
  static std::vector<std::pair<std::string, std::string>> usual_sources() { return {{"target", "label"}}; }

  std::vector<tenon::State> states() const {
    return {{"correct", TENON_INT64}, {"total", TENON_INT64}, {"undefined", TENON_INT64}, {"outside", TENON_INT64}};
  }

  std::vector<tenon::MetricValue> values() const {
    if (top_k_ == 1) {
      return {tenon::higher_is_better("accuracy", "fraction of correct predictions, in [0, 1]")};
    }
    return {tenon::higher_is_better("top" + std::to_string(top_k_) + "_accuracy",
                                    "fraction of targets that are among the top_k predictions, in [0, 1]")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const Tensor logits = inputs[0];
    const Tensor target = inputs[1];
    const int64_t classes = logits.shape()[1];
    if (top_k_ > classes) {
      throw tenon::Error(TENON_INVALID_ARGUMENT, "top_k is " + std::to_string(top_k_) + "; the logits have " +
                                                     std::to_string(classes) + " classes");
    }
    const Tensor counted = tenon::ne(target, ignore_index_);
    frame.tensor(kCorrect) += tenon::sum(tenon::logical_and(is_predicted(logits, target), counted));
    frame.tensor(kTotal) += tenon::sum(counted);
    frame.tensor(kUndefined) += tenon::metrics::count_undefined(logits, 1, counted);
    frame.tensor(kOutside) += tenon::metrics::count_outside(target, 0, classes - 1, counted);
  }

  double compute(const tenon::Frame& frame) const {
    tenon::metrics::refuse_outside(frame.tensor(kOutside), tenon::metrics::describe_classes(ignore_index_));
    if (frame.tensor(kUndefined).number() > 0) return tenon::metrics::kNone;
    return tenon::metrics::share(frame.tensor(kCorrect).number(), frame.tensor(kTotal).number());
  }

 private:
  enum : uint64_t { kCorrect, kTotal, kUndefined, kOutside };

  Tensor is_predicted(const Tensor& logits, const Tensor& target) const {
    if (top_k_ == 1) return tenon::eq(tenon::argmax(logits, 1), target);
    const Tensor predicted = tenon::topk(logits, top_k_, 1).indices;
    return tenon::gt(tenon::sum(tenon::eq(predicted, tenon::unsqueeze(target, 1)), {1}), 0);
  }

  int64_t ignore_index_;
  int64_t top_k_;
};

}  // namespace

TENON_PLUGIN("accuracy", "0.1.0", "Apache-2.0", "Classification accuracy.",
             tenon::metric<Accuracy>("accuracy",
                                     "fraction of targets with the largest logit, or with one of the top_k largest"))
