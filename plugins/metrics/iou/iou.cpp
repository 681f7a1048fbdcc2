// Intersection over union, the Jaccard index, of classes: Jaccard, "The Distribution of the Flora in the Alpine Zone",
// New Phytologist 11, 1912. Means over classes as torchmetrics' MulticlassJaccardIndex takes them.
#include <tenon/plugin.hpp>

#include <limits>

namespace {

const tenon::Op kMaskedSelect("aten::masked_select");
const tenon::Op kBincount("aten::bincount");

class Iou final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::required<int64_t>("classes").range("[2, 4096]").doc("number of classes"),
            tenon::param("ignore_index", -100)
                .doc("target that is not counted, neither what was predicted there; a class of this number has no part "
                     "in the mean"),
            tenon::param("per_class", true).doc("whether each class has a figure of its own: iou_0, iou_1 and so on")};
  }

  explicit Iou(const tenon::Params& params)
      : classes_(params.integer("classes")),
        ignore_index_(params.integer("ignore_index")),
        per_class_(params.boolean("per_class")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N," + std::to_string(classes_) + ",...S", TENON_ANY_FLOAT, "scores of the classes"),
            tenon::input("target", "N,...S", TENON_DTYPE_BIT(TENON_INT64), "class in [0, classes), or ignore_index")};
  }

  // By target and prediction: how often.
  std::vector<tenon::State> states() const { return {{"confusion", TENON_INT64, {classes_, classes_}}}; }

  std::vector<tenon::Figure> figures() const {
    std::vector<tenon::Figure> figures = {tenon::higher_is_better(
        "iou", "intersection over union, in [0, 1]; mean over the classes that are in the targets or predictions")};
    for (int64_t i = 0; per_class_ && i < classes_; ++i) {
      figures.push_back(
          tenon::higher_is_better("iou_" + std::to_string(i), "of this class; NaN where it is in neither"));
    }
    return figures;
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const tenon::Tensor target = inputs[1];
    const tenon::Tensor cells = target * classes_ + tenon::argmax(inputs[0], 1);
    const tenon::Tensor counted = frame.call(kMaskedSelect, {cells, tenon::ne(target, ignore_index_)});
    const int64_t cell_count = classes_ * classes_;
    const tenon::Tensor counts = frame.call(kBincount, {counted, {}, cell_count});
    if (counts.numel() > cell_count) {
      throw tenon::DataError("a target is " + std::to_string((counts.numel() - 1) / classes_) +
                             "; expected a class from 0 to " + std::to_string(classes_ - 1) + ", or ignore_index (" +
                             std::to_string(ignore_index_) + ")");
    }
    frame.tensor(0) += tenon::reshape(counts, {classes_, classes_});
  }

  std::vector<double> compute(const tenon::Frame& frame) const {
    const tenon::Tensor state = frame.tensor(0);
    const int64_t* const confusion = state.data<int64_t>();
    std::vector<double> figures(1);
    int64_t present = 0;
    for (int64_t i = 0; i < classes_; ++i) {
      const double figure = iou_of(confusion, i);
      if (figure == figure) {
        figures[0] += figure;
        ++present;
      }
      if (per_class_) figures.push_back(figure);
    }
    figures[0] = present > 0 ? figures[0] / static_cast<double>(present) : kNone;
    return figures;
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  double iou_of(const int64_t* confusion, int64_t index) const {
    int64_t targets = 0;
    int64_t predictions = 0;
    for (int64_t other = 0; other < classes_; ++other) {
      targets += confusion[index * classes_ + other];
      predictions += confusion[other * classes_ + index];
    }
    const int64_t both = confusion[index * classes_ + index];
    const int64_t either = targets + predictions - both;
    if (either == 0 || index == ignore_index_) return kNone;
    return static_cast<double>(both) / static_cast<double>(either);
  }

  int64_t classes_;
  int64_t ignore_index_;
  bool per_class_;
};

}  // namespace

TENON_PLUGIN("iou", "0.1.0", "Apache-2.0", "Intersection over union.",
             tenon::metric<Iou>("iou", "intersection over union of targets and predicted classes, mean over classes"),
             tenon::operators({"aten::add.Tensor", "aten::add_.Tensor", "aten::argmax", "aten::bincount",
                               "aten::masked_select", "aten::mul.Scalar", "aten::ne.Scalar", "aten::reshape"}))
