// Perplexity (Jelinek et al., 1977): the exponential of the mean negative log-likelihood per token, in nats. The inputs
// are those of sequence_cross_entropy. All tokens of the data have equal weight, whatever the lengths of sequences and
// batches.
#include <tenon/plugin.hpp>

#include <cmath>
#include <limits>

namespace {

class Perplexity final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("ignore_index", -100).range("[-1e9, 1e9]").doc("target value that is ignored")};
  }

  explicit Perplexity(const tenon::Params& params) : ignore_index_(params.integer("ignore_index")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,T,V", TENON_ANY_FLOAT, "unnormalised log-probabilities of the vocabulary"),
            tenon::input("target", "N,T", TENON_DTYPE_BIT(TENON_INT64), "token in [0, V), or ignore_index")};
  }

  std::vector<tenon::IndexInput> index_inputs() const {
    return {tenon::index_below("V", "target").ignoring(ignore_index_)};
  }

  std::vector<tenon::State> states() const { return {{"nats", TENON_FLOAT64}, {"tokens", TENON_INT64}}; }

  std::vector<tenon::MetricValue> values() const {
    return {tenon::lower_is_better("perplexity", "per token, at least 1; uniform guessing gives the vocabulary size")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    // Half precision cannot represent the sum over many tokens.
    const tenon::Tensor logits = tenon::to_dtype(tenon::flatten(inputs[0], 0, 1), TENON_FLOAT32);
    const tenon::Tensor target = tenon::flatten(inputs[1], 0, 1);
    frame.tensor(kNats) += tenon::cross_entropy_loss(logits, target, TENON_REDUCTION_SUM, ignore_index_);
    frame.tensor(kTokens) += tenon::sum(tenon::ne(target, ignore_index_));
  }

  double compute(const tenon::Frame& frame) const {
    const double tokens = frame.tensor(kTokens).number();
    return tokens > 0 ? std::exp(frame.tensor(kNats).number() / tokens) : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  enum : uint64_t { kNats, kTokens };

  int64_t ignore_index_;
};

}  // namespace

TENON_PLUGIN("perplexity", "0.1.0", "Apache-2.0", "Perplexity of predicted sequences.",
             tenon::metric<Perplexity>("perplexity", "exponential of the mean negative log-likelihood of a token"))
