// What a model is made of, as a table for people.
#pragma once

#include <string>

#include "framework/plugins/model.h"

namespace tenon::pipeline {

// Parameters and buffers by module (the name up to its last dot): shapes, counts, and totals with the size in memory. A
// model of more than `most_rows` modules is shown by shorter prefixes.
std::string summarize_model(const plugins::Model& model, size_t most_rows = 24);

}  // namespace tenon::pipeline
