#include "framework/validation/checks/tensor_checks.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <map>

#include "framework/components/calls/guard.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::validation {

namespace {

using components::dtype_name;
using components::Port;
using components::ShapePattern;

bool allows(const Port& port, int32_t dtype) {
  return port.dtypes == TENON_ANY_DTYPE || (port.dtypes & TENON_DTYPE_BIT(dtype)) != 0;
}

bool is_floating(const Port& port) { return port.dtypes == TENON_ANY_DTYPE || (port.dtypes & TENON_ANY_FLOAT) != 0; }

int32_t choose_dtype(const Port& port, int32_t preferred) {
  if (preferred != TENON_DTYPE_NONE && is_floating(port) && allows(port, preferred)) return preferred;
  for (const int32_t dtype : {TENON_FLOAT32, TENON_FLOAT64, TENON_BFLOAT16, TENON_FLOAT16, TENON_INT64, TENON_INT32,
                              TENON_UINT8, TENON_INT8, TENON_INT16, TENON_BOOL, TENON_COMPLEX64})
    if (allows(port, dtype)) return dtype;
  return TENON_COMPLEX128;
}

class ShapeMaker {
 public:
  ShapeMaker(const InputRecipe& recipe, int64_t batch) : recipe_(recipe) { extents_["N"] = batch; }

  std::vector<int64_t> make(const ShapePattern& pattern) {
    if (pattern.any) return {extents_["N"], recipe_.extent};
    std::vector<int64_t> shape;
    for (const ShapePattern::Extent& extent : pattern.extents)
      shape.push_back(extent.size ? *extent.size : find(extent.name));
    if (pattern.open_ended) shape.insert(shape.end(), recipe_.rest.begin(), recipe_.rest.end());
    return shape;
  }

 private:
  int64_t find(const std::string& name) {
    const int64_t next = recipe_.extent + (recipe_.distinct ? static_cast<int64_t>(extents_.size()) - 1 : 0);
    return extents_.emplace(name, next).first->second;
  }

  const InputRecipe& recipe_;
  std::map<std::string, int64_t> extents_;
};

at::Tensor fill(const std::vector<int64_t>& shape, int32_t dtype, const InputRecipe& recipe) {
  const at::ScalarType type = components::to_scalar_type(dtype);
  if (at::isIntegralType(type, /*includeBool=*/true)) return at::randint(0, 2, shape, at::kLong).to(type);
  const at::Tensor numbers = recipe.numbers == InputRecipe::Numbers::unit ? at::rand(shape, at::kDouble) * 0.8 + 0.1
                                                                          : at::randn(shape, at::kDouble);
  return numbers.to(type);
}

// Whether the ports leave open an extent other than that of the batch.
bool has_open_extents(const std::vector<Port>& ports) {
  return std::ranges::any_of(ports, [](const Port& port) {
    return port.shape.any || port.shape.open_ended ||
           std::ranges::any_of(port.shape.extents,
                               [](const ShapePattern::Extent& extent) { return !extent.size && extent.name != "N"; });
  });
}

// The most likely recipe comes first. Recipes that give equal inputs for these ports are left out.
std::vector<InputRecipe> list_recipes(const std::vector<Port>& ports) {
  bool is_open = false;
  bool has_names = false;
  for (const Port& port : ports) {
    is_open = is_open || port.shape.open_ended;
    has_names = has_names || port.shape.any;
    for (const ShapePattern::Extent& extent : port.shape.extents) has_names = has_names || !extent.size;
  }
  const std::vector<std::vector<int64_t>> rests =
      is_open ? std::vector<std::vector<int64_t>>{{},    {3},   {8},       {16},        {64},        {8, 8},     {32},
                                                  {128}, {784}, {1, 8, 8}, {3, 16, 16}, {1, 28, 28}, {3, 32, 32}}
              : std::vector<std::vector<int64_t>>{{}};
  const std::vector<std::pair<int64_t, bool>> extents =
      has_names ? std::vector<std::pair<int64_t, bool>>{{5, true}, {8, false}, {16, false}, {32, false}, {64, false}}
                : std::vector<std::pair<int64_t, bool>>{{5, true}};
  std::vector<InputRecipe> recipes;
  for (const auto numbers : {InputRecipe::Numbers::normal, InputRecipe::Numbers::unit})
    for (const auto& [extent, distinct] : extents)
      for (const auto& rest : rests) recipes.push_back({extent, distinct, rest, numbers});
  return recipes;
}

}  // namespace

RandomInputs::RandomInputs(const std::vector<Port>& ports, uint64_t seed, const std::string& function,
                           const Attempt& attempt)
    : ports_(ports), seed_(seed) {
  const at::NoGradGuard no_grad;
  std::string last_error;
  std::optional<InputRecipe> accepted;
  for (const InputRecipe& recipe : list_recipes(ports)) {
    recipe_ = recipe;
    bool is_accepted = false;
    try {
      if (attempt(make(2), is_accepted)) return;
    } catch (const components::EscapedException&) {
      throw;
    } catch (const support::Error& error) {
      last_error = error.what();
    }
    if (is_accepted && !accepted) accepted = recipe;
  }
  if (!accepted)
    throw Failed("{} accepts none of the inputs that were tried; its last error: {}{}", function, last_error,
                 has_open_extents(ports)
                     ? ". If it requires inputs of a certain size, declare that size in its ports, or "
                       "make it accept smaller ones with --params"
                     : "");
  recipe_ = *accepted;
}

std::vector<at::Tensor> RandomInputs::make(int64_t batch, int32_t preferred, uint64_t number) const {
  torch::manual_seed(seed_ + static_cast<uint64_t>(batch) + number);
  ShapeMaker shapes(recipe_, batch);
  std::vector<at::Tensor> inputs;
  for (const Port& port : ports_)
    inputs.push_back(fill(shapes.make(port.shape), choose_dtype(port, preferred), recipe_));
  return inputs;
}

std::optional<int64_t> find_batch_dimension(const Port& port) {
  if (port.shape.any) return 0;
  std::optional<int64_t> found;
  for (size_t i = 0; i < port.shape.extents.size(); ++i) {
    if (port.shape.extents[i].size || port.shape.extents[i].name != "N") continue;
    if (found) return std::nullopt;
    found = static_cast<int64_t>(i);
  }
  return found;
}

void RandomInputs::require_slices() const {
  bool has_batches = false;
  for (const Port& port : ports_) {
    const bool is_fixed = !port.shape.open_ended && std::ranges::all_of(port.shape.extents, [](const auto& extent) {
      return extent.size.has_value();
    });
    if (find_batch_dimension(port))
      has_batches = true;
    else if (!is_fixed)
      throw Skipped("a batch cannot be divided, because its input " + port.describe() + " has not one dimension N");
  }
  if (!has_batches) throw Skipped("no input has the dimension N of the batch");
}

std::vector<at::Tensor> RandomInputs::slice(const std::vector<at::Tensor>& batch, int64_t first, int64_t end) const {
  std::vector<at::Tensor> slices;
  for (size_t i = 0; i < ports_.size(); ++i) {
    const std::optional<int64_t> dimension = find_batch_dimension(ports_[i]);
    slices.push_back(dimension ? batch[i].narrow(*dimension, first, end - first).contiguous() : batch[i]);
  }
  return slices;
}

bool takes(const std::vector<Port>& ports, int32_t dtype) {
  return std::ranges::any_of(ports, is_floating) && takes_where_floating(ports, dtype);
}

bool takes_where_floating(const std::vector<Port>& ports, int32_t dtype) {
  return std::ranges::all_of(ports, [&](const Port& port) { return !is_floating(port) || allows(port, dtype); });
}

std::optional<size_t> find_non_finite(const std::vector<at::Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].defined() && at::isFloatingType(tensors[i].scalar_type()) &&
        !at::isfinite(tensors[i]).all().item<bool>())
      return i;
  return std::nullopt;
}

components::StepContext make_context(const Session& session, bool training) {
  return {.training = training, .epoch = 1, .seed = session.seed()};
}

void warn_of_odd_dtypes(Session& session, const components::PortList& ports) {
  for (const std::vector<Port>* const list : {&ports.inputs, &ports.outputs})
    for (const Port& port : *list) {
      // uint8 alone is that of images.
      const bool is_number = port.dtypes > TENON_DTYPE_BIT(TENON_UINT8) && port.dtypes <= TENON_COMPLEX128;
      if (!is_number) continue;
      const std::string number = fmt::format("{}", port.dtypes), name = dtype_name(static_cast<int32_t>(port.dtypes));
      session.warn(
          fmt::format("the port {} has the dtypes {}: this set is the number {}, that of {}. If {} is meant, use "
                      "TENON_DTYPE_BIT({})",
                      port.name, components::describe_dtypes(port.dtypes), number, name, name, number));
    }
}

std::string describe(const components::PortList& ports) {
  std::string text;
  for (const Port& port : ports.inputs) text += "input " + port.describe() + "; ";
  for (const Port& port : ports.outputs) text += "output " + port.describe() + "; ";
  return text;
}

}  // namespace tenon::validation
