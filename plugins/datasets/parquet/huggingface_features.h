// The types of columns in the metadata that Hugging Face's datasets package writes, and the index in those of pandas.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace parquet_dataset {

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

}  // namespace parquet_dataset
