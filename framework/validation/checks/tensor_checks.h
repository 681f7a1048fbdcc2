// What the checks of models, losses and metrics share, such as random inputs that fit the ports.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

#include "framework/components/calls/ports.h"
#include "framework/components/tensors/frame.h"
#include "framework/validation/session/session.h"

namespace tenon::validation {

// A choice for everything that the ports leave open.
struct InputRecipe {
  int64_t extent;             // of a named dimension; with `distinct`, each further name gets an extent one larger
  bool distinct;              // whether each name gets a different extent
  std::vector<int64_t> rest;  // the extents of `...`
  enum class Numbers { normal, unit } numbers;  // floating-point values: normally distributed, or within [0.1, 0.9]
};

// Random inputs that a component accepts, derived from a seed.
class RandomInputs {
 public:
  // Calls the component with inputs of two samples, without gradients. Sets `is_accepted` once the component has
  // accepted them. Returns whether they also suit the checks. Throws support::Error.
  using Attempt = std::function<bool(const std::vector<at::Tensor>& inputs, bool& is_accepted)>;

  // Tries several shapes and distributions until `attempt` returns true; otherwise uses the first that was accepted.
  // Throws Failed with the last error of `function` if none was, and an exception that escapes from the plugin.
  RandomInputs(const std::vector<components::Port>& ports, uint64_t seed, const std::string& function,
               const Attempt& attempt);

  // If a port allows several dtypes, the input has `preferred` if allowed, else float32, int64 or the first allowed
  // one. The batch dimension `N` is `batch`. Integers are 0 or 1, which suits class indices, tokens and flags. Batches
  // with other numbers have other values.
  std::vector<at::Tensor> make(int64_t batch, int32_t preferred = TENON_DTYPE_NONE, uint64_t number = 0) const;

  // Throws Skipped unless slice() can divide a batch: one input has the dimension `N`, none has it twice, and the
  // others have fixed shapes.
  void require_slices() const;
  // The samples from `first` to `end` of such inputs.
  std::vector<at::Tensor> slice(const std::vector<at::Tensor>& batch, int64_t first, int64_t end) const;

 private:
  std::vector<components::Port> ports_;
  uint64_t seed_;
  InputRecipe recipe_{};
};

// The only dimension of a tensor of this port that is `N`; nothing if there is none, or several.
std::optional<int64_t> find_batch_dimension(const components::Port& port);

// Whether there are floating-point ports and all of them accept the dtype.
bool takes(const std::vector<components::Port>& ports, int32_t dtype);
// As takes(), but also true without floating-point ports: a network of floats may have token inputs.
bool takes_where_floating(const std::vector<components::Port>& ports, int32_t dtype);

// The index of the first tensor that holds NaN or infinity; nothing if there is none.
std::optional<size_t> find_non_finite(const std::vector<at::Tensor>& tensors);

components::StepContext make_context(const Session& session, bool training);

std::string describe(const components::PortList& ports);

// Warns if a port has an unusual set of dtypes that is the number of a dtype.
void warn_of_odd_dtypes(Session& session, const components::PortList& ports);

// Throws Failed if the component has no input, or other ports the second time.
template <class Table>
void require_same_ports(Session& session) {
  const components::Instance<Table> instance = session.create<Table>();
  const components::PortList ports = instance.read_ports();
  const std::string first = describe(ports), second = describe(instance.read_ports());
  if (ports.inputs.empty()) throw Failed("ports returns no input; expected one or more");
  if (first != second) throw Failed("ports returns " + first + " then " + second + " expected the same each time");
  warn_of_odd_dtypes(session, ports);
}

// A scope with LibTorch's mixed precision on the CPU.
class Bfloat16Autocast {
 public:
  Bfloat16Autocast() {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::increment_nesting();
  }
  Bfloat16Autocast(const Bfloat16Autocast&) = delete;
  Bfloat16Autocast& operator=(const Bfloat16Autocast&) = delete;
  ~Bfloat16Autocast() {
    at::autocast::decrement_nesting();
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
};

}  // namespace tenon::validation
