// Similarity of generated sequences to one reference sequence each, token by token. Tokens are compared by their ids.
// For word-level values, as in papers, use a tokenizer that splits words.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "plugins/metrics/predictions.h"

namespace {

using tenon::Tensor;
using tenon::metrics::kNone;

using Tokens = std::vector<int64_t>;

// Counts the n-grams of the sequence.
std::map<Tokens, int64_t> count_ngrams(const Tokens& tokens, size_t n) {
  std::map<Tokens, int64_t> counts;
  for (size_t i = 0; i + n <= tokens.size(); ++i) {
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(i);
    ++counts[Tokens(first, first + static_cast<std::ptrdiff_t>(n))];
  }
  return counts;
}

// Counts the n-grams of `predicted` that are in `target`, each at most as often as in `target`.
int64_t count_common_ngrams(const Tokens& predicted, const Tokens& target, size_t n) {
  const std::map<Tokens, int64_t> expected = count_ngrams(target, n);
  int64_t common = 0;
  for (const auto& [ngram, count] : count_ngrams(predicted, n)) {
    const auto found = expected.find(ngram);
    if (found != expected.end()) common += std::min(count, found->second);
  }
  return common;
}

// Returns the length of the longest common subsequence.
int64_t longest_common(const Tokens& left, const Tokens& right) {
  // lengths for the processed part of `left` and each prefix of `right`
  std::vector<int64_t> lengths(right.size() + 1, 0);
  for (const int64_t token : left) {
    int64_t diagonal = 0;
    for (size_t i = 0; i < right.size(); ++i) {
      const int64_t above = lengths[i + 1];
      lengths[i + 1] = token == right[i] ? diagonal + 1 : std::max(above, lengths[i]);
      diagonal = above;
    }
  }
  return lengths.back();
}

class SequencePairs {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("predicted", "N,T", tenon::metrics::kInt64, "token ids of the generated sequence"),
            tenon::input("target", "N,U", tenon::metrics::kInt64, "token ids of the reference sequence")};
  }

 protected:
  static std::vector<tenon::Param> end_params() {
    return {
        tenon::param("end_id", -1).range("[-1e9, 1e9]").doc("end-of-sequence token, which is not counted; -1: none"),
        tenon::param("padding_id", -100).range("[-1e9, 1e9]").doc("token to ignore everywhere, in addition to -100")};
  }

  explicit SequencePairs(const tenon::Params& params)
      : end_id_(params.integer("end_id")), padding_id_(params.integer("padding_id")) {}

  // Calls `visit(predicted, target)` for each sample. Synchronises with the device.
  template <class Visit>
  void visit_pairs(const tenon::Frame& frame, const tenon::Inputs& inputs, Visit&& visit) const {
    const Tensor predicted = move(inputs[0], frame.make<int64_t>({}, {0}));
    const Tensor target = move(inputs[1], frame.make<int64_t>({}, {0}));
    const int64_t samples = inputs[0].shape()[0];
    for (int64_t i = 0; i < samples; ++i) visit(read_row(predicted, i), read_row(target, i));
  }

  // Moves the tensor to the device and dtype of `like`.
  static Tensor move(const Tensor& tensor, const Tensor& like) { return contiguous(to_like(tensor, like)); }

 private:
  Tokens read_row(const Tensor& rows, int64_t row) const {
    const int64_t width = rows.shape()[1];
    const int64_t* const first = rows.data<int64_t>() + row * width;
    Tokens tokens;
    for (const int64_t* token = first; token != first + width && (*token != end_id_ || end_id_ == -1); ++token)
      if (*token != padding_id_ && *token != -100) tokens.push_back(*token);
    return tokens;
  }

  int64_t end_id_;
  int64_t padding_id_;
};

// Corpus BLEU: Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation", ACL 2002, as in
// torchmetrics' BLEUScore. Smoothing: Lin, Och, "ORANGE", COLING 2004.
class Bleu final : public SequencePairs {
 public:
  static std::vector<tenon::Param> schema() {
    std::vector<tenon::Param> params = end_params();
    params.push_back(tenon::param("max_n", 4).range("[1, 8]").doc("maximum length of n-grams"));
    params.push_back(tenon::param("smooth", false)
                         .doc("add-one smoothing of the matched and total counts of n-grams with two or more tokens"));
    return params;
  }

  explicit Bleu(const tenon::Params& params)
      : SequencePairs(params),
        max_n_(static_cast<size_t>(params.integer("max_n"))),
        smooth_(params.boolean("smooth")) {}

  std::vector<tenon::State> states() const {
    const auto n = static_cast<int64_t>(max_n_);
    return {{"common", TENON_INT64, {n}}, {"predicted", TENON_INT64, {n}}, {"lengths", TENON_INT64, {3}}};
  }

  std::vector<tenon::MetricValue> values() const {
    return {tenon::higher_is_better("bleu", "in [0, 1]; papers report it times 100")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    std::vector<int64_t> common(max_n_), all(max_n_), lengths(3);
    visit_pairs(frame, inputs, [&](const Tokens& predicted, const Tokens& target) {
      for (size_t n = 1; n <= max_n_; ++n) {
        common[n - 1] += count_common_ngrams(predicted, target, n);
        if (predicted.size() >= n) all[n - 1] += static_cast<int64_t>(predicted.size() - n + 1);
      }
      lengths[kPredicted] += static_cast<int64_t>(predicted.size());
      lengths[kTarget] += static_cast<int64_t>(target.size());
      ++lengths[kSamples];
    });
    const std::vector<int64_t>* const counts[] = {&common, &all, &lengths};
    for (uint64_t i = 0; i < std::size(counts); ++i) {
      const auto count = static_cast<int64_t>(counts[i]->size());
      frame.tensor(i) += move(frame.make<int64_t>(*counts[i], {count}), frame.tensor(i));
    }
  }

  double compute(const tenon::Frame& frame) const {
    const Tensor commons = frame.tensor(0);
    const Tensor alls = frame.tensor(1);
    const Tensor length_state = frame.tensor(2);
    const int64_t* const lengths = length_state.data<int64_t>();
    if (lengths[kSamples] == 0) return kNone;
    double log_sum = 0;
    for (size_t i = 0; i < max_n_; ++i) {
      const auto common = static_cast<double>(commons.data<int64_t>()[i]);
      const auto all = static_cast<double>(alls.data<int64_t>()[i]);
      if (common == 0) return 0;  // also with smoothing, see docs/reference/losses_and_metrics.md
      const double more = smooth_ && i > 0 ? 1 : 0;
      log_sum += std::log((common + more) / (all + more));
    }
    const double shortness = static_cast<double>(lengths[kTarget]) / static_cast<double>(lengths[kPredicted]);
    return std::exp(log_sum / static_cast<double>(max_n_) + std::min(0.0, 1 - shortness));
  }

 private:
  enum : size_t { kPredicted, kTarget, kSamples };

  size_t max_n_;
  bool smooth_;
};

// Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", ACL 2004: rougeL of the package rouge-score, over
// token ids.
class RougeL final : public SequencePairs {
 public:
  static std::vector<tenon::Param> schema() { return end_params(); }

  explicit RougeL(const tenon::Params& params) : SequencePairs(params) {}

  std::vector<tenon::State> states() const { return {{"sum", TENON_FLOAT64}, {"samples", TENON_INT64}}; }

  std::vector<tenon::MetricValue> values() const {
    return {tenon::higher_is_better("rouge_l", "F1 of the longest common subsequence, mean over samples, in [0, 1]")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    double sum = 0;
    int64_t samples = 0;
    visit_pairs(frame, inputs, [&](const Tokens& predicted, const Tokens& target) {
      const auto common = static_cast<double>(longest_common(predicted, target));
      if (common > 0) sum += 2 * common / static_cast<double>(predicted.size() + target.size());
      ++samples;
    });
    frame.tensor(kSum) += sum;
    frame.tensor(kSamples) += samples;
  }

  double compute(const tenon::Frame& frame) const {
    return tenon::metrics::share(frame.tensor(kSum).number(), frame.tensor(kSamples).number());
  }

 private:
  enum : uint64_t { kSum, kSamples };
};

}  // namespace

TENON_PLUGIN("text_metrics", "0.1.0", "Apache-2.0", "BLEU and ROUGE-L of generated sequences.",
             tenon::metric<Bleu>("bleu", "corpus BLEU over token ids"),
             tenon::metric<RougeL>("rouge_l", "ROUGE-L over token ids, mean over samples"))
