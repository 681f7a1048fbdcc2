// The names of classes by the field that holds their numbers: [data.class_names], and the metadata of weights.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tenon::config {

// Field -> the names of the classes 0, 1, ...
using ClassNames = std::map<std::string, std::vector<std::string>>;

// Returns why the names cannot name classes: `has the class "cat" twice`. None: each name differs and is not empty.
std::optional<std::string> find_name_fault(const std::vector<std::string>& names);

// Returns the names of the classes of a field. Empty if only their numbers are known.
std::vector<std::string> find_classes(const ClassNames& names, const std::string& field);

// Returns the name of a class, or its number if the list does not name it.
std::string name_class(const std::vector<std::string>& names, int64_t number);

// Returns `3 classes ("bird", "cat", "dog")`. Omits names in the middle of a long list.
std::string describe_classes(const std::vector<std::string>& names);
// Returns `"bird", "cat"` for some of them. Omits those after the first ones.
std::string list_classes(const std::vector<std::string>& names);

}  // namespace tenon::config
