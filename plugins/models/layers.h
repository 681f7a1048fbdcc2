// Shared code of the portable models.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <tenon/plugin.hpp>

namespace tenon::components {

// Stochastic depth: Huang et al., "Deep networks with stochastic depth", arXiv:1603.09382. Each sample of the batch
// independently skips a residual branch, like torchvision's mode "row".
//
// In training, zeroes each row of `branch` ([N, ...]) with this probability, and scales the other rows by 1 / (1 -
// probability), in place. REQUIRES: 0 <= probability < 1, and no graph node has saved `branch`.
inline void drop_rows(const Tensor& branch, double probability) {
  if (!branch.checked_frame().is_training() || probability == 0) return;
  std::vector<int64_t> one_each = branch.shape();
  std::fill(one_each.begin() + 1, one_each.end(), 1);
  branch *= dropout(new_ones(branch, one_each), probability);
}

// Adds the names of a layer's tensors in another library, for tied_weights(). The layer has one prefix in the library
// and another in the model.
inline void add_names(std::vector<std::pair<std::string, std::string>>& names, const std::string& library,
                      const std::string& model, std::initializer_list<const char*> tensors) {
  for (const char* const tensor : tensors) names.emplace_back(library + tensor, model + tensor);
}

// Initialises a convolution by the fan-out, as in "Delving Deep into Rectifiers", arXiv:1502.01852. A depthwise
// convolution counts as dense.
inline Init init_by_fan_out(int64_t to, int64_t kernel) {
  return init::normal(0, std::sqrt(2 / static_cast<double>(to * kernel * kernel)));
}

// Finds the row of a table of variants that the parameter `variant` names.
template <class Variants>
auto find_variant(const Variants& variants, const Params& params) {
  return *std::find_if(std::begin(variants), std::end(variants),
                       [&](const auto& known) { return params.text("variant") == known.name; });
}

template <class Variants>
std::vector<std::string> list_variants(const Variants& variants) {
  std::vector<std::string> names;
  for (const auto& variant : variants) names.emplace_back(variant.name);
  return names;
}

}  // namespace tenon::components
