// The classes of a dataset's fields, in C++. A dataset defines a function that returns the names for each field that
// holds numbers of classes:
//
//   std::vector<tenon::ClassNames> class_names() const { return {{"label", {"cat", "dog"}}}; }
//
// It is called once, after construction. class_names.h explains what the host does with the names.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "class_names.h"
#include "detail/detect.hpp"
#include "detail/table.hpp"

namespace tenon {

// The classes of a field: {"label", {"cat", "dog"}}, or {"label", {}, 10} if their number is known and their names are
// not.
struct ClassNames {
  std::string field;
  std::vector<std::string> names;  // of the classes 0, 1, ...
  uint64_t count = names.size();
};

namespace detail {

TENON_DETECT(class_names, std::declval<const T&>().class_names());

// The author's names together with the array that borrows from them.
struct ClassList {
  explicit ClassList(ClassNames given) : classes(std::move(given)) {
    if (!classes.names.empty() && classes.count != classes.names.size()) {
      throw Error(TENON_INVALID_ARGUMENT, "class_names() returned " + std::to_string(classes.names.size()) +
                                              " names and a count of " + std::to_string(classes.count) +
                                              " for the field \"" + classes.field + "\"");
    }
    for (const std::string& name : classes.names) names.push_back(borrow(name));
  }
  ClassList(ClassList&&) = default;
  ClassList(const ClassList&) = delete;

  tenon_class_names describe() const {
    tenon_class_names described = {};
    described.size = sizeof described;
    described.field = borrow(classes.field);
    described.count = classes.count;
    described.names = names.empty() ? nullptr : names.data();
    return described;
  }

  ClassNames classes;
  std::vector<tenon_string> names;  // borrow from the texts in `classes`, which do not move
};

}  // namespace detail

}  // namespace tenon
