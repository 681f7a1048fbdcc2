// A table of the model's modules and parameters.
#pragma once

#include <string>

#include "framework/components/kinds/model.h"

namespace tenon::pipeline {

// Parameters and buffers by module (the name up to its last dot): shapes, counts, and totals with the memory size. For
// models with more than `max_rows` modules, shorter name prefixes are used. The shapes are left out if a line would
// have more than `max_width` columns (0: no limit), and long names of modules begin with dots.
std::string summarize_model(const components::Model& model, size_t max_width = 0, size_t max_rows = 24);

}  // namespace tenon::pipeline
