// Soft Dice loss: Milletari et al., "V-Net", arXiv:1606.04797. For each sample and class it is 1 - (2 sum(p t) +
// smooth) / (sum(p) + sum(t) + smooth), with sums over positions. Then it is averaged over classes and samples, as in
// monai's DiceLoss. A mean over samples can be accumulated over parts of a batch; a value of the whole batch cannot.
#include "plugins/losses/loss.h"

namespace {

using tenon::Tensor;

tenon::Param smooth_param() {
  return tenon::param("smooth", 1e-5)
      .range("(0, inf)")
      .doc("added to numerator and denominator; the loss of a class that is neither in the targets nor predicted is 0");
}

tenon::Param ignore_index_param() {
  return tenon::param("ignore_index", -100)
      .range("[-1e9, 1e9]")
      .doc(
          "target value that is ignored together with the prediction there; a sample with only ignored targets has "
          "weight 0");
}

int64_t product_from(const std::vector<int64_t>& shape, size_t first) {
  int64_t product = 1;
  for (size_t i = first; i < shape.size(); ++i) product *= shape[i];
  return product;
}

// Takes probabilities and targets [N, C, S], which are 0 at ignored positions. Returns [N, C].
Tensor dice_distance(const Tensor& probabilities, const Tensor& target, double smooth) {
  const Tensor both = tenon::sum(probabilities * target, {2});
  const Tensor sizes = tenon::sum(probabilities, {2}) + tenon::sum(target, {2});
  return 1.0 - (both * 2.0 + smooth) / (sizes + smooth);
}

// distance: [N]; ignored: [N, S], bool.
tenon::LossResult mean_over_samples(const Tensor& distance, const Tensor& ignored) {
  const Tensor has_places = tenon::gt(tenon::sum(tenon::logical_not(ignored), {1}), 0);
  return tenon::losses::mean_over(tenon::sum(distance * has_places), tenon::sum(has_places));
}

class Dice final {
 public:
  static std::vector<tenon::Param> schema() {
    return {smooth_param(), ignore_index_param(),
            tenon::param("include_background", true).doc("whether the mean includes class 0")};
  }

  explicit Dice(const tenon::Params& params)
      : smooth_(params.number("smooth")),
        targets_(params.integer("ignore_index"), {}),
        include_background_(params.boolean("include_background")) {}

  std::vector<tenon::Port> ports() const { return tenon::losses::class_ports(); }

  std::vector<tenon::IndexInput> index_inputs() const { return targets_.index_inputs("C"); }
  bool is_capturable() const { return true; }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const Tensor logits = tenon::losses::to_float(inputs[0]);
    const std::vector<int64_t> shape = logits.shape();
    const int64_t samples = shape[0];
    const int64_t classes = shape[1];
    if (classes < 2) {
      throw tenon::Error(TENON_INVALID_ARGUMENT, "the logits have " + std::to_string(classes) +
                                                     " classes; expected 2 or more; use the loss binary_dice for one");
    }
    const int64_t places = product_from(shape, 2);
    const Tensor target = tenon::reshape(inputs[1], {samples, places});
    const Tensor ignored = targets_.are_ignored(target);
    const Tensor all_ignored = tenon::unsqueeze(ignored, 1);
    const Tensor hot = tenon::transpose(tenon::one_hot(targets_.without_ignored(target), classes), 1, 2);
    const Tensor probabilities = tenon::softmax(tenon::reshape(logits, {samples, classes, places}), 1);
    const Tensor distance =
        dice_distance(tenon::masked_fill(probabilities, all_ignored, 0),
                      tenon::masked_fill(tenon::to_dtype(hot, logits.dtype()), all_ignored, 0), smooth_);
    return mean_over_samples(tenon::mean(tenon::slice(distance, 1, include_background_ ? 0 : 1), {1}), ignored);
  }

 private:
  double smooth_;
  tenon::losses::ClassTargets targets_;
  bool include_background_;
};

class BinaryDice final {
 public:
  static std::vector<tenon::Param> schema() { return {smooth_param(), ignore_index_param()}; }

  explicit BinaryDice(const tenon::Params& params)
      : smooth_(params.number("smooth")), targets_(params.integer("ignore_index"), {}) {}

  std::vector<tenon::Port> ports() const {
    return tenon::losses::binary_ports("0 or 1, a probability, or ignore_index");
  }

  bool is_capturable() const { return true; }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const Tensor logits = tenon::losses::to_float(inputs[0]);
    const std::vector<int64_t> shape = logits.shape();
    const std::vector<int64_t> flat = {shape[0], 1, product_from(shape, 1)};
    const Tensor ignored = targets_.are_ignored(tenon::reshape(inputs[1], flat));
    const Tensor target = tenon::masked_fill(tenon::reshape(inputs[1], flat), ignored, 0);
    tenon::losses::require_binary(target);
    const Tensor probabilities = tenon::masked_fill(tenon::sigmoid(tenon::reshape(logits, flat)), ignored, 0);
    const Tensor distance = dice_distance(probabilities, tenon::to_dtype(target, logits.dtype()), smooth_);
    return mean_over_samples(tenon::squeeze(distance, 1), tenon::squeeze(ignored, 1));
  }

 private:
  double smooth_;
  tenon::losses::ClassTargets targets_;
};

}  // namespace

TENON_PLUGIN("dice_losses", "0.1.0", "Apache-2.0", "Dice losses.",
             tenon::loss<Dice>("dice", "soft Dice loss over classes, mean over samples"),
             tenon::loss<BinaryDice>("binary_dice", "soft Dice loss over binary logits, mean over samples"))
