// Connectionist temporal classification: Graves et al., ICML 2006. As in torch.nn.CTCLoss(reduction="mean"): the loss
// of each sequence is divided by the length of its target, then averaged over sequences.
#include "plugins/losses/loss.h"

#include <algorithm>

namespace {

using tenon::Tensor;

const tenon::Op kCtcLoss("aten::ctc_loss", "IntList");

std::vector<int64_t> read(const tenon::Frame& frame, const Tensor& numbers) {
  const Tensor here = contiguous(to_like(numbers, frame.make<int64_t>({}, {0})));
  return std::vector<int64_t>(here.data<int64_t>(), here.data<int64_t>() + here.numel());
}

void require_within(int64_t found, int64_t greatest, const std::string& what, size_t sample) {
  if (found >= 0 && found <= greatest) return;
  throw tenon::DataError(what + " of sample " + std::to_string(sample) + " of the batch is " + std::to_string(found) +
                         "; expected a number from 0 to " + std::to_string(greatest));
}

class Ctc final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("blank", 0).range("[0, 1e9]").doc("index of the blank class"),
            tenon::param("zero_infinity", true)
                .doc("use the loss 0 instead of infinity for a target that is too long for its input")};
  }

  explicit Ctc(const tenon::Params& params)
      : blank_(params.integer("blank")), zero_infinity_(params.boolean("zero_infinity")) {}

  std::vector<tenon::Port> ports() const {
    constexpr uint64_t kInt64 = TENON_DTYPE_BIT(TENON_INT64);
    return {tenon::input("logits", "N,T,C", TENON_ANY_FLOAT, "unnormalised log-probabilities at each time step"),
            tenon::input("target", "N,U", kInt64, "labels in [0, C); the padding may have any value"),
            tenon::input("input_lengths", "N", kInt64, "number of time steps of each sample, at most T"),
            tenon::input("target_lengths", "N", kInt64, "number of labels of each sample, at most U")};
  }

  tenon::LossResult forward(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const std::vector<int64_t> shape = inputs[0].shape();
    const std::vector<int64_t> input_lengths = read(frame, inputs[2]);
    const std::vector<int64_t> target_lengths = read(frame, inputs[3]);
    // The operator does not check labels and lengths before it uses them as indices.
    check_labels(read(frame, inputs[1]), inputs[1].shape()[1], target_lengths, shape[2]);
    for (size_t i = 0; i < input_lengths.size(); ++i) require_within(input_lengths[i], shape[1], "the input length", i);
    if (shape[0] == 0) return tenon::losses::mean_over(tenon::sum(tenon::losses::to_float(inputs[0])), 0);

    const Tensor log_p = tenon::log_softmax(tenon::transpose(tenon::losses::to_float(inputs[0]), 0, 1), 2);
    const Tensor losses = frame.call(kCtcLoss, {log_p, without_padding(inputs[1]), input_lengths, target_lengths,
                                                blank_, int64_t{TENON_REDUCTION_NONE}, zero_infinity_});
    std::vector<double> shares;
    for (const int64_t length : target_lengths)
      shares.push_back(1.0 / static_cast<double>(std::max<int64_t>(length, 1)));
    return tenon::losses::mean_over(tenon::sum(losses * tenon::losses::make_like(shares, losses)), shape[0]);
  }

 private:
  void check_labels(const std::vector<int64_t>& labels, int64_t width, const std::vector<int64_t>& lengths,
                    int64_t classes) const {
    if (blank_ >= classes) {
      throw tenon::Error(TENON_INVALID_ARGUMENT, "blank is " + std::to_string(blank_) + "; the logits have " +
                                                     std::to_string(classes) + " classes");
    }
    for (size_t i = 0; i < lengths.size(); ++i) {
      require_within(lengths[i], width, "the target length", i);
      const auto first = labels.begin() + static_cast<std::ptrdiff_t>(i) * width;
      for (auto label = first; label != first + lengths[i]; ++label) require_within(*label, classes - 1, "a label", i);
    }
  }

  // The operator also reads the padding after the labels of a sample.
  Tensor without_padding(const Tensor& target) const {
    return tenon::masked_fill(target, tenon::lt(target, 0), blank_);
  }

  int64_t blank_;
  bool zero_infinity_;
};

}  // namespace

TENON_PLUGIN("ctc", "0.1.0", "Apache-2.0", "Connectionist temporal classification.",
             tenon::loss<Ctc>("ctc", "CTC loss of unaligned labels, divided by the target length, mean over samples"),
             tenon::operators({"aten::ctc_loss.IntList"}))
