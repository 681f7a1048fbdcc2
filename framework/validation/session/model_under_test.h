// A model with its tensors and inputs that it accepts, for the checks of models.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/model.h>

#include "framework/components/calls/ports.h"
#include "framework/components/tensors/frame.h"
#include "framework/validation/session/random_inputs.h"
#include "framework/validation/session/session.h"

namespace tenon::validation {

struct DeclaredTensor {
  std::string name;
  at::Tensor tensor;
  bool trainable;
};

class ModelUnderTest {
 public:
  // Creates the model and reads its ports. Throws Failed if they are invalid.
  explicit ModelUnderTest(Session& session);

  // Throws Failed for a declaration that the header does not allow.
  void build();

  Subject<tenon_model>& subject() { return subject_; }
  const components::PortList& ports() const { return ports_; }
  const std::vector<DeclaredTensor>& tensors() const { return tensors_; }

  // Searches for inputs that forward accepts. Tries several shapes. Throws Failed with the last error if none fits.
  void find_recipe();
  std::vector<at::Tensor> inputs(int64_t batch, int32_t preferred = TENON_DTYPE_NONE) const;

  enum class Mode { evaluation, training };
  // Returns the model's outputs, undefined for null. Throws support::Error if the plugin fails.
  std::vector<at::Tensor> forward(Mode mode, const std::vector<at::Tensor>& inputs);
  // As forward(), with other tensors in the frame.
  std::vector<at::Tensor> forward_with(const std::vector<at::Tensor>& tensors, Mode mode,
                                       const std::vector<at::Tensor>& inputs);

 private:
  struct Builder;

  Subject<tenon_model> subject_;
  components::PortList ports_;
  std::vector<DeclaredTensor> tensors_;
  std::optional<InputRecipe> recipe_;
};

// Reads a component's ports. Throws Failed or support::Error.
template <class Table>
components::PortList read_ports(Subject<Table>& subject) {
  const tenon_port* const* ports = nullptr;
  uint64_t count = 0;
  subject.call("ports", [&] { return subject.table().ports(subject.self(), &ports, &count); });
  return components::read_ports(subject.session().component, ports, count);
}

std::string describe(const components::PortList& ports);  // a text for comparing two lists

// The sum of all floating-point outputs, each weighted with random factors, as a scalar with the dtype of the first.
// Undefined if no output requires grad.
at::Tensor weigh_outputs(const std::vector<at::Tensor>& outputs, uint64_t seed);

// The index of the first tensor that holds NaN or infinity; "" if there is none.
std::string find_non_finite(const std::vector<at::Tensor>& tensors);

}  // namespace tenon::validation
