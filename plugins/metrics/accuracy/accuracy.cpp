// The share of targets whose class has the largest logit.
#include <tenon/plugin.hpp>

#include <limits>

namespace {

class Accuracy final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("ignore_index", -100).doc("target that is not counted")};
  }

  explicit Accuracy(const tenon::Params& params) : ignore_index_(params.integer("ignore_index")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,C,...S", TENON_ANY_FLOAT, "scores of the classes"),
            tenon::input("target", "N,...S", TENON_DTYPE_BIT(TENON_INT64), "class in [0, C), or ignore_index")};
  }

  std::vector<tenon::State> states() const { return {{"correct", TENON_INT64}, {"total", TENON_INT64}}; }

  std::vector<tenon::Figure> figures() const {
    return {tenon::higher_is_better("accuracy", "share of the targets that are predicted, in [0, 1]")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const tenon::Tensor logits = inputs[0];
    const tenon::Tensor target = inputs[1];
    const tenon::Tensor counted = tenon::ne(target, ignore_index_);
    const tenon::Tensor correct = tenon::eq(tenon::argmax(logits, 1), target);
    frame.tensor(kCorrect) += tenon::sum(tenon::logical_and(correct, counted));
    frame.tensor(kTotal) += tenon::sum(counted);
  }

  double compute(const tenon::Frame& frame) const {
    const double total = frame.tensor(kTotal).number();
    return total > 0 ? frame.tensor(kCorrect).number() / total : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  static constexpr uint64_t kCorrect = 0;
  static constexpr uint64_t kTotal = 1;

  int64_t ignore_index_;
};

}  // namespace

TENON_PLUGIN("accuracy", "0.1.0", "Apache-2.0", "Classification accuracy.",
             tenon::metric<Accuracy>("accuracy", "share of the targets whose class has the largest logit"))
