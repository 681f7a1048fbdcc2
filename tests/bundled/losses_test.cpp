// Tests what the bundled losses refuse and whether they can be captured. random_losses_test.cpp compares their values.
#include "framework/support/diagnostics/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/doctest_with_torch.h"

namespace losses_test {

using namespace tenon::bundled;

TEST_CASE("cross_entropy with label smoothing refuses class weights of 0") {
  const tenon::config::Values params = {{"label_smoothing", 0.1}, {"class_weights", std::vector<double>{1, 0, 2}}};
  CHECK_THROWS_WITH_AS(open_loss("cross_entropy", params), doctest::Contains("class_weights has a 0"),
                       tenon::support::Error);
  CHECK_NOTHROW(open_loss("cross_entropy", {{"class_weights", std::vector<double>{1, 0, 2}}}));
}

TEST_CASE("a loss can be captured unless it reads values or copies weights from host memory") {
  for (const char* id : {"bce_with_logits", "binary_dice", "binary_focal", "cross_entropy", "dice", "focal", "huber",
                         "kl_divergence", "l1", "mse", "sequence_cross_entropy", "smooth_l1", "soft_cross_entropy"}) {
    CAPTURE(id);
    CHECK(open_loss(id).is_capturable());
  }
  CHECK_FALSE(open_loss("ctc").is_capturable());
  const std::vector<double> weights{1, 2};
  for (const char* id : {"cross_entropy", "focal", "sequence_cross_entropy"}) {
    CAPTURE(id);
    CHECK_FALSE(open_loss(id, {{"class_weights", weights}}).is_capturable());
  }
  CHECK_FALSE(open_loss("bce_with_logits", {{"positive_weights", weights}}).is_capturable());
}

}  // namespace losses_test
