// A model of a plugin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/decoding.h>
#include <tenon/draft/results.h>
#include <tenon/model.h>
#include <tenon/tied_weights.h>

#include "framework/components/calls/ports.h"
#include "framework/components/kinds/instance.h"
#include "framework/components/tensors/frame.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::components {

// A parameter or buffer of a model.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
  bool trainable;
  // Listed by the extension TENON_FROZEN_PARAMETERS. Other tensors that are not trainable are buffers.
  bool is_frozen_parameter = false;
};

// Returns "layer1.0.conv1" for "layer1.0.conv1.weight", and "" for a name without a dot.
std::string module_of(const std::string& tensor);

// How a model continues sequences token by token, see tenon/decoding.h.
struct Decoding {
  size_t tokens;           // index of the input with the tokens so far
  size_t scores;           // index of the output with the scores of the token after each of them
  uint64_t cache_count;    // number of tensors in the cache
  int64_t context = 0;     // the most tokens of a sequence; 0: no limit
  int64_t vocabulary = 0;  // extent of the scores; 0: unknown
};

// The result of Model::decode.
struct Decoded {
  at::Tensor scores;              // [N, V], of the token after the last one
  std::vector<at::Tensor> cache;  // [N, ...] each
};

// What a model's outputs mean, see tenon/draft/results.h.
struct ModelResult {
  std::string name;
  uint32_t role;        // TENON_FIELD_...
  bool is_list;         // whether samples have different numbers of rows
  std::string image;    // name of the input with the image; "" without a role
  std::string classes;  // name of the result with the classes of boxes; "": none
  std::string doc;
};

// The results of a batch, in the order of Model::results().
struct ComputedResults {
  std::vector<at::Tensor> values;   // [N, ...], or [N, K, ...] for a list
  std::vector<at::Tensor> lengths;  // for a list int64 [N], the number of rows of each sample; else undefined
};

// Reads the description of a model with these ports. Throws Error(plugin) for invalid names or numbers.
Decoding read_decoding(const Component& component, const tenon_decoding_info& info, const PortList& ports);

class Model {
 public:
  // Creates the model and reads its ports; build() makes its tensors.
  Model(const Component& component, const config::ComponentPlan& plan);

  // Allocates and initialises the tensors with LibTorch's default generator, so seed it first. Throws Error(plugin).
  // `after_declaration`: called for each tensor that the host has initialised, and may free its memory.
  using AfterDeclaration = std::function<void(const std::string& name, const at::Tensor& tensor)>;
  void build(const AfterDeclaration& after_declaration = {});
  // As build(), but tensors that the host would initialise have neither memory nor values: their device is "meta".
  void build_without_memory();

  const Component& component() const { return instance_.component(); }
  const std::vector<Port>& inputs() const { return ports_.inputs; }
  const std::vector<Port>& outputs() const { return ports_.outputs; }
  const std::vector<NamedTensor>& tensors() const { return tensors_; }  // in order of declaration
  // The tensors under the further names of the extension TENON_TIED_WEIGHTS.
  const std::vector<NamedTensor>& tied_tensors() const { return tied_tensors_; }

  // Whether a CUDA graph can replay forward and backward in training; false if the model does not declare it.
  bool is_capturable() const { return is_capturable_; }
  // Whether train.memory_format = "auto" keeps its tensors contiguous, see tenon/draft/memory_format.h.
  bool needs_contiguous() const { return needs_contiguous_; }

  // The extension TENON_DECODING; nothing if the model does not have it.
  const std::optional<Decoding>& decoding() const { return decoding_; }

  // The extension TENON_RESULTS; empty if the model does not have it.
  const std::vector<ModelResult>& results() const { return results_; }

  // Takes the outputs of forward. Throws Error(plugin). REQUIRES: results() are not empty.
  ComputedResults compute_results(const StepContext& context, const std::vector<at::Tensor>& outputs) const;

  // Takes inputs and returns outputs in the order of the ports. Throws Error(plugin) with the step, and with the
  // operator that failed where the forward can be repeated.
  std::vector<at::Tensor> forward(const StepContext& context, const std::vector<at::Tensor>& inputs) const;

  // As forward(), with other tensors in place of tensors(). The outputs are not checked; an output is undefined if the
  // model returned null.
  std::vector<at::Tensor> forward_unchecked(const StepContext& context, const std::vector<at::Tensor>& inputs,
                                            const std::vector<tenon_tensor*>& tensors) const;

  // Reads further tokens of sequences, see tenon/decoding.h. In the first call `cache` is empty; in later calls all
  // inputs but the tokens are undefined. Throws Error(plugin). REQUIRES: decoding().
  Decoded decode(const StepContext& context, const std::vector<at::Tensor>& inputs,
                 const std::vector<at::Tensor>& cache) const;

 private:
  struct Builder;
  void build_with(Builder& state);
  void read_decoding();
  void read_results(const tenon_result* const* results, uint64_t count);
  void require_name_count(const char* function, const void* list, uint64_t count) const;
  void read_frozen_parameters(const tenon_string* list, uint64_t count);
  void read_tied_tensors(const tenon_tied_weight* list, uint64_t count);
  std::string find_failed_operator(const StepContext& context, const std::vector<at::Tensor>& inputs,
                                   const support::Error& error) const;
  void check_outputs(const StepContext& context, const std::vector<at::Tensor>& inputs,
                     const std::vector<at::Tensor>& outputs) const;

  Instance<tenon_model> instance_;
  PortList ports_;
  bool is_capturable_;
  bool needs_contiguous_;
  std::optional<Decoding> decoding_;
  decltype(tenon_decoding::forward) decode_ = nullptr;
  std::vector<ModelResult> results_;
  std::vector<NamedTensor> tensors_, tied_tensors_;
  std::vector<tenon_tensor*> handles_;  // handles of tensors_
  std::vector<at::Tensor> buffers_;     // the tensors of tensors_ that are not trained
};

}  // namespace tenon::components
