// A model with its tensors and inputs that it takes, for the checks of models.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/model.h>

#include "framework/plugins/frame.h"
#include "framework/plugins/ports.h"
#include "framework/validation/random_inputs.h"
#include "framework/validation/session.h"

namespace tenon::validation {

struct DeclaredTensor {
  std::string name;
  at::Tensor tensor;
  bool trainable;
};

class ModelUnderTest {
 public:
  // Creates the model, and reads its ports. Throws Failed where they make no sense.
  explicit ModelUnderTest(Session& session);

  // Throws Failed for a declaration that the header does not allow.
  void build();

  Subject<tenon_model>& subject() { return subject_; }
  const plugins::PortList& ports() const { return ports_; }
  const std::vector<DeclaredTensor>& tensors() const { return tensors_; }

  // Looks for inputs that forward takes, trying several shapes. Throws Failed, with its last answer, if it takes none.
  void find_recipe();
  std::vector<at::Tensor> inputs(int64_t batch, int32_t preferred = TENON_DTYPE_NONE) const;

  enum class Mode { evaluation, training };
  // Outputs as the model gave them, undefined for null. Throws support::Error as the plugin fails.
  std::vector<at::Tensor> forward(Mode mode, const std::vector<at::Tensor>& inputs);
  // The same with other tensors in the frame.
  std::vector<at::Tensor> forward_with(const std::vector<at::Tensor>& tensors, Mode mode,
                                       const std::vector<at::Tensor>& inputs);

 private:
  struct Builder;

  Subject<tenon_model> subject_;
  plugins::PortList ports_;
  std::vector<DeclaredTensor> tensors_;
  std::optional<InputRecipe> recipe_;
};

// Reads a component's ports twice, which must give the same. Throws Failed or support::Error.
template <class Table>
plugins::PortList read_ports(Subject<Table>& subject) {
  const tenon_port* const* ports = nullptr;
  uint64_t count = 0;
  subject.call("ports", [&] { return subject.table().ports(subject.self(), &ports, &count); });
  return plugins::read_ports(subject.session().component, ports, count);
}

std::string describe(const plugins::PortList& ports);  // to compare two

// The sum of all floating outputs, each with its own random factors, as a scalar of the dtype of the first; undefined
// if none has gradients.
at::Tensor weigh_outputs(const std::vector<at::Tensor>& outputs, uint64_t seed);

// "" or which of the named tensors holds NaN or infinity.
std::string find_non_finite(const std::vector<at::Tensor>& tensors);

}  // namespace tenon::validation
