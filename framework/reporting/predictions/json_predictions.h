// Predictions as JSON lines.
#pragma once

#include <filesystem>
#include <memory>

#include "framework/reporting/predictions/prediction_file.h"

namespace tenon::reporting {

// Writes one object per sample and line. A tensor is a number or nested lists, of a shape that may differ between
// samples. The number of a class is followed by its name, as in a CSV file. NaN and infinities are strings, because
// JSON has no numbers for them. Throws Error(configuration) if the file cannot be created.
std::unique_ptr<PredictionFile> make_json_predictions(std::filesystem::path path);

}  // namespace tenon::reporting
