// A loss with inputs that it accepts, for the checks of losses.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/loss.h>

#include "framework/components/calls/ports.h"
#include "framework/validation/session/random_inputs.h"
#include "framework/validation/session/session.h"

namespace tenon::validation {

class LossUnderTest {
 public:
  struct Result {
    at::Tensor loss;           // undefined: null
    at::Tensor weight_tensor;  // undefined if the loss returned a number
    double weight;
    std::vector<at::Tensor> parts;  // undefined for a part that the loss did not return
  };

  // Creates the loss, and reads its ports and the names of its parts. Throws Failed if they are invalid.
  explicit LossUnderTest(Session& session);

  Subject<tenon_loss>& subject() { return subject_; }
  const std::vector<components::Port>& ports() const { return ports_.inputs; }
  const std::vector<std::string>& parts() const { return parts_; }

  // Searches for inputs that forward accepts and for which the loss is finite. Tries several shapes and distributions.
  // Throws Failed with the last error if forward accepts none.
  void find_recipe();
  // Floating-point inputs require grad.
  std::vector<at::Tensor> inputs(int64_t batch, int32_t preferred = TENON_DTYPE_NONE) const;

  Result forward(const std::vector<at::Tensor>& inputs);

  std::vector<std::string> read_parts();

 private:
  Subject<tenon_loss> subject_;
  components::PortList ports_;
  std::vector<std::string> parts_;
  std::optional<InputRecipe> recipe_;
};

}  // namespace tenon::validation
