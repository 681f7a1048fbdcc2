// Teacher-forced accuracy: the fraction of tokens that are predicted correctly, and of sequences without a wrong token.
// The model receives the true previous tokens, so this is an upper bound for free generation.
#include "plugins/metrics/predictions.h"

namespace {

class TokenAccuracy final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("ignore_index", -100).range("[-1e9, 1e9]").doc("target value that is ignored")};
  }

  explicit TokenAccuracy(const tenon::Params& params) : ignore_index_(params.integer("ignore_index")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,T,V", TENON_ANY_FLOAT, "scores of the vocabulary"),
            tenon::input("target", "N,T", tenon::metrics::kInt64, "token in [0, V), or ignore_index")};
  }

  std::vector<tenon::State> states() const {
    return {{"wrong_tokens", TENON_INT64}, {"tokens", TENON_INT64},    {"wrong_sequences", TENON_INT64},
            {"sequences", TENON_INT64},    {"undefined", TENON_INT64}, {"outside", TENON_INT64}};
  }

  std::vector<tenon::MetricValue> values() const {
    return {tenon::higher_is_better("token_accuracy", "fraction of tokens that are predicted correctly, in [0, 1]"),
            tenon::higher_is_better("sequence_accuracy", "fraction of sequences without a wrong token, in [0, 1]")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const tenon::Tensor logits = inputs[0];
    const tenon::Tensor target = inputs[1];
    const tenon::Tensor counted = tenon::ne(target, ignore_index_);
    const tenon::Tensor wrong = tenon::logical_and(tenon::ne(tenon::argmax(logits, 2), target), counted);
    frame.tensor(kWrongTokens) += tenon::sum(wrong);
    frame.tensor(kTokens) += tenon::sum(counted);
    frame.tensor(kWrongSequences) += tenon::sum(tenon::gt(tenon::sum(wrong, {1}), 0));
    frame.tensor(kSequences) += tenon::sum(tenon::gt(tenon::sum(counted, {1}), 0));
    frame.tensor(kUndefined) += tenon::metrics::count_undefined(logits, 2, counted);
    frame.tensor(kOutside) += tenon::metrics::count_outside(target, 0, logits.shape()[2] - 1, counted);
  }

  std::vector<double> compute(const tenon::Frame& frame) const {
    tenon::metrics::refuse_outside(frame.tensor(kOutside), tenon::metrics::describe_classes(ignore_index_));
    if (frame.tensor(kUndefined).number() > 0) return {tenon::metrics::kNone, tenon::metrics::kNone};
    const auto share_right = [&](uint64_t wrong, uint64_t all) {
      return 1 - tenon::metrics::share(frame.tensor(wrong).number(), frame.tensor(all).number());
    };
    return {share_right(kWrongTokens, kTokens), share_right(kWrongSequences, kSequences)};
  }

 private:
  enum : uint64_t { kWrongTokens, kTokens, kWrongSequences, kSequences, kUndefined, kOutside };

  int64_t ignore_index_;
};

}  // namespace

TENON_PLUGIN("token_accuracy", "0.1.0", "Apache-2.0", "Accuracy of predicted sequences.",
             tenon::metric<TokenAccuracy>("token_accuracy",
                                          "fraction of tokens, and of whole sequences, that are predicted correctly"))
