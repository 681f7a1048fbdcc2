// The classes of multi-hot columns, which the training data determine.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace parquet_dataset {

using MultiHotClasses = std::map<std::string, std::vector<std::string>>;  // by column

// What the dataset saves with the weights, see tenon/draft/fitted_data.h.
std::string format_multi_hot(const MultiHotClasses& classes);

// Throws tenon::DataError for bytes that format_multi_hot() did not return.
MultiHotClasses parse_multi_hot(std::string_view printed);

// Returns for each of the `names` its place in `training`. Throws tenon::DataError prefixed by `place` with both lists
// if it has none, and warns of classes that `names` lacks.
std::vector<size_t> find_in_training(const std::vector<std::string>& names, const std::vector<std::string>& training,
                                     const std::string& place);

}  // namespace parquet_dataset
