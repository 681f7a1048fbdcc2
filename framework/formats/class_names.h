// The order of class names, and names that hold several classes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace formats {

// Sorts names by value if all are finite numbers: "2" before "10", and "1.0" before "10.0". Names of equal value are
// sorted by their bytes. Returns whether all are numbers. Leaves others as they are.
bool sort_numbers(std::vector<std::string>& names);

// Returns each name once, sorted by value if all are numbers, else by bytes.
std::vector<std::string> sort_names(std::vector<std::string> names);

// The same names as text, as torchvision's ImageFolder sorts them, if all are numbers and the two orders differ.
std::optional<std::vector<std::string>> sort_numbers_as_text(const std::vector<std::string>& names);

struct NamePair {
  std::string first, second;
};

// Finds two names that cannot be meant as two classes: numbers of equal value, such as "1" and "1.0", or "True" and
// "true".
std::optional<NamePair> find_equal_names(const std::vector<std::string>& names);

// Finds two names that differ only in the case of ASCII letters.
std::optional<NamePair> find_names_of_other_case(const std::vector<std::string>& names);

// Whether a cell holds no class: it is empty, or `?`, `NA`, `N/A`, `<NA>`, `NaN` or `nan`, as programs write a missing
// value.
bool is_missing_value(std::string_view text);

// Cleans names (unicode.h), and counts those that change.
class NameCleaner {
 public:
  std::string clean(std::string_view name);
  // For example `2 names have blanks around them, such as " cat"; they are read without them`. "" if no name changed.
  std::string describe_changes() const;

 private:
  size_t changed_ = 0;
  bool has_other_form_ = false;
  std::vector<std::string> examples_;  // at most three
};

// "0, 1, 2, ..., 11": at most six names.
std::string list_briefly(const std::vector<std::string>& names);

// A name that lists several classes.
struct ListedClasses {
  std::string name;
  char separator;
};

// Finds a name such as "cat|dog" with parts that are probably classes: all parts are whole numbers ("1 3", "[0, 2]") or
// other names ("cat/dog" next to "cat" and "dog"), it is written as a list ("['cat', 'dog']"), or a part between | or ;
// is a name by itself or part of another name.
std::optional<ListedClasses> find_listed_classes(const std::vector<std::string>& names);

// The parts of a cell, each cleaned (unicode.h) and not empty. Brackets around the cell and quotes around a part, as in
// "['cat', 'dog']", are left out.
std::vector<std::string> split_classes(std::string_view cell, std::string_view separator);

}  // namespace formats
