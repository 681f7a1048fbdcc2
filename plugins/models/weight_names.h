// The names of a model's tensors in another library, for tied_weights().
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace tenon::components {

// Adds the tensors of a layer, which has one prefix in the library and another in the model.
inline void add_names(std::vector<std::pair<std::string, std::string>>& names, const std::string& library,
                      const std::string& model, std::initializer_list<const char*> tensors) {
  for (const char* const tensor : tensors) names.emplace_back(library + tensor, model + tensor);
}

}  // namespace tenon::components
