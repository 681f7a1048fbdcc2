// A loss with inputs that it takes, for the checks of losses.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/loss.h>

#include "framework/plugins/ports.h"
#include "framework/validation/random_inputs.h"
#include "framework/validation/session.h"

namespace tenon::validation {

class LossUnderTest {
 public:
  struct Result {
    at::Tensor loss;           // undefined: null
    at::Tensor weight_tensor;  // undefined where it gave a number
    double weight;
    std::vector<at::Tensor> parts;  // undefined where it gave none
  };

  // Creates the loss, and reads its ports and the names of its parts. Throws Failed where they make no sense.
  explicit LossUnderTest(Session& session);

  Subject<tenon_loss>& subject() { return subject_; }
  const std::vector<plugins::Port>& ports() const { return ports_.inputs; }
  const std::vector<std::string>& parts() const { return parts_; }

  // Looks for inputs that forward takes and whose loss is finite, trying several shapes and distributions. Throws
  // Failed, with its last answer, if it takes none.
  void find_recipe();
  // Floating ones require gradients.
  std::vector<at::Tensor> inputs(int64_t batch, int32_t preferred = TENON_DTYPE_NONE) const;

  Result forward(const std::vector<at::Tensor>& inputs);

  std::vector<std::string> read_parts();

 private:
  Subject<tenon_loss> subject_;
  plugins::PortList ports_;
  std::vector<std::string> parts_;
  std::optional<InputRecipe> recipe_;
};

}  // namespace tenon::validation
