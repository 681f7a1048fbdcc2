// The types of columns in the metadata that Hugging Face's datasets package writes.
#pragma once

#include <map>
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

}  // namespace parquet_dataset
