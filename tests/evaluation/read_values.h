// The numbers of a tensor in a safetensors file.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/artifacts/checkpoint/safetensors.h"

namespace tenon::end_to_end {

template <class T>
std::vector<T> read_values(const artifacts::SafetensorsFile& file, const std::string& name) {
  const artifacts::TensorView* view = file.find(name);
  REQUIRE(view);
  std::vector<T> values(view->bytes / sizeof(T));
  std::memcpy(values.data(), view->data, view->bytes);
  return values;
}

}  // namespace tenon::end_to_end
