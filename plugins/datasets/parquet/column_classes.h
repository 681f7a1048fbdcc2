// The classes of columns, from the metadata of the file or the training data.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace parquet_dataset {

// The type of a column in the metadata that Hugging Face's datasets package writes.
struct Feature {
  std::string type;                  // "ClassLabel", "Image", "Value", ..., of the elements of a list, too
  std::vector<std::string> classes;  // of a ClassLabel

  bool operator==(const Feature&) const = default;
};

// Parses `{"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}, ...}}}` and returns the
// features by column. Columns of other forms are left out. Throws tenon::DataError prefixed by `place` if the text is
// no JSON object, or the names of a class are no texts.
std::map<std::string, Feature> read_features(const std::string& json, const std::string& place);

// Parses `{"index_columns": ["__index_level_0__", {"kind": "range", ...}], ...}` and returns the names of columns that
// are the index of a table of pandas. None for other texts: the metadata only help to choose columns.
std::set<std::string> read_index_columns(const std::string& json);

// The classes of multi-hot columns, which the training data determine.
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
