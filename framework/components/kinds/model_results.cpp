// The extension TENON_RESULTS of a model.
#include <algorithm>
#include <set>
#include <string>

#include "framework/components/kinds/model.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/formats/snake_case.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/text/format.h"
#include "framework/support/text/printable.h"

namespace tenon::components {

namespace {

constexpr const char* kResults = "results.results";
constexpr const char* kCompute = "results.compute";

ModelResult read_result(const tenon_result& result) {
  return {to_string(result.name),    result.role,          result.is_list != 0, to_string(result.image),
          to_string(result.classes), to_string(result.doc)};
}

bool has_coordinates(const ModelResult& result) {
  return result.role == TENON_FIELD_BOXES || result.role == TENON_FIELD_KEYPOINTS;
}

// Whether the dtype and the last extent are those of the role. REQUIRES: at least one dimension.
bool has_coordinates_of(const ModelResult& result, const at::Tensor& value) {
  if (result.role == TENON_FIELD_NUMBERS) return true;
  if (!value.is_floating_point()) return false;
  if (result.role == TENON_FIELD_BOXES) return value.size(-1) == 4;
  return result.role != TENON_FIELD_KEYPOINTS || value.size(-1) == 2 || value.size(-1) == 3;
}

// Returns what is wrong with a result that follows others; "" if nothing is.
std::string find_fault(const ModelResult& result, const std::set<std::string>& taken, const PortList& ports) {
  if (!formats::is_lower_snake_case(result.name) || taken.contains(result.name))
    return fmt::format(
        "names a result \"{}\"; expected a name in lower_snake_case that no other result and no output has",
        support::escape_control_characters(result.name));
  if (result.role > TENON_FIELD_ANGLES)
    return fmt::format("{} has the role {}, which does not exist", result.name, result.role);
  const bool has_image = std::ranges::find(ports.inputs, result.image, &Port::name) != ports.inputs.end();
  if (result.role != TENON_FIELD_NUMBERS && !has_image)
    return fmt::format("{} has the image \"{}\"; expected the name of an input", result.name, result.image);
  return "";
}

}  // namespace

void Model::read_results(const tenon_result* const* results, uint64_t count) {
  constexpr uint64_t kMost = 1024;
  const auto refuse = [&](const std::string& what) { throw_plugin_error(component(), kResults, what); };
  if (!instance_.extension<tenon_results>(TENON_RESULTS)->compute) refuse("has no function compute (it is null)");
  if (count == 0 || count > kMost || !results)
    refuse(fmt::format("returns {} results{}; expected 1 to {}", count, results ? "" : ", which are null", kMost));
  std::set<std::string> taken;
  for (const Port& port : ports_.outputs) taken.insert(port.name);
  for (uint64_t i = 0; i < count; ++i) {
    if (!results[i] || results[i]->size < TENON_SIZE_TO(tenon_result, doc))
      refuse(fmt::format("result {} is null or cut short", i));
    const ModelResult& read = results_.emplace_back(read_result(*results[i]));
    if (const std::string fault = find_fault(read, taken, ports_); !fault.empty()) refuse(fault);
    taken.insert(read.name);
  }
  for (const ModelResult& result : results_)
    if (!result.classes.empty() && std::ranges::find(results_, result.classes, &ModelResult::name) == results_.end())
      refuse(fmt::format("{} has the classes \"{}\"; expected the name of a result", result.name, result.classes));
}

ComputedResults Model::compute_results(const StepContext& context, const std::vector<at::Tensor>& outputs) const {
  TENON_CHECK(!results_.empty(), "the model has no results");
  Frame frame(context, handles_);
  frame.set_buffers(buffers_);
  const std::vector<tenon_tensor*> given = to_handles(outputs);
  std::vector<tenon_tensor*> values(results_.size(), nullptr), lengths(results_.size(), nullptr);
  const auto* const extension = instance_.extension<tenon_results>(TENON_RESULTS);
  instance_.call(
      [&](const tenon_model&) {
        return extension->compute(instance_.self(), frame.get(), given.data(), given.size(), values.data(),
                                  lengths.data(), values.size());
      },
      kCompute, context.at());
  const int64_t samples = outputs.front().dim() > 0 ? outputs.front().size(0) : 1;
  ComputedResults computed;
  for (size_t i = 0; i < results_.size(); ++i) {
    const ModelResult& result = results_[i];
    const auto refuse = [&](const std::string& what) {
      throw_plugin_error(component(), kCompute, "{}: {}", result.name, what);
    };
    if (!values[i]) refuse("returned nothing (null)");
    computed.values.push_back(to_tensor(values[i]));
    computed.lengths.push_back(lengths[i] ? to_tensor(lengths[i]) : at::Tensor());
    const at::Tensor &value = computed.values.back(), &length = computed.lengths.back();
    const int64_t least_dims = (result.is_list ? 2 : 1) + (has_coordinates(result) ? 1 : 0);
    if (value.dim() < least_dims || value.size(0) != samples || !has_coordinates_of(result, value))
      refuse(fmt::format("returned {}; expected {}[{}{}, ...{}]", describe(value),
                         result.role == TENON_FIELD_NUMBERS ? "" : "floating-point numbers ", samples,
                         result.is_list ? ", K" : "",
                         result.role == TENON_FIELD_BOXES       ? ", 4"
                         : result.role == TENON_FIELD_KEYPOINTS ? ", 2 or 3"
                                                                : ""));
    if (length.defined() != result.is_list)
      refuse(result.is_list ? "returned no lengths; expected the number of rows of each sample"
                            : "returned lengths; expected none, because it is no list");
    if (!result.is_list) continue;
    if (length.scalar_type() != at::kLong || length.dim() != 1 || length.size(0) != samples)
      refuse(fmt::format("returned lengths as {}; expected int64 [{}]", describe(length), samples));
    const auto outside = [&](const at::Tensor& one) { return one.lt(0).logical_or(one.gt(value.size(1))).any(); };
    if (length.is_cpu() && outside(length).item<bool>())
      refuse(fmt::format("returned a length outside of 0 to {}, its number of rows", value.size(1)));
  }
  return computed;
}

}  // namespace tenon::components
