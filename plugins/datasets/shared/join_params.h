// The parameters of a dataset, from those of its parts.
#pragma once

#include <initializer_list>
#include <vector>

#include <tenon/params.hpp>

namespace datasets {

inline std::vector<tenon::Param> join_params(std::initializer_list<std::vector<tenon::Param>> parts) {
  std::vector<tenon::Param> params;
  for (const std::vector<tenon::Param>& part : parts) params.insert(params.end(), part.begin(), part.end());
  return params;
}

}  // namespace datasets
