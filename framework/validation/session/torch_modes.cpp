#include "framework/validation/session/torch_modes.h"

#include <ATen/autocast_mode.h>
#include <torch/types.h>

#include "framework/support/text/format_values.h"

namespace tenon::validation {

std::string read_torch_modes() {
  std::string text = at::GradMode::is_enabled() ? "gradients" : "no gradients";
  if (c10::InferenceMode::is_enabled()) text += ", inference";
  if (at::autocast::is_autocast_enabled(at::kCPU)) text += ", autocast";
  text += ", " + support::format_count(at::get_num_threads(), "thread") + ", new tensors ";
  text += c10::toString(c10::get_default_dtype_as_scalartype());
  if (at::globalContext().deterministicAlgorithms()) text += ", deterministic";
  return text;
}

}  // namespace tenon::validation
