// The classes of a dataset's fields, in C++. A dataset defines a function that returns the names for each field that
// holds numbers of classes:
//
//   std::vector<tenon::ClassNames> class_names() const { return {{"label", {"cat", "dog"}}}; }
//
// It is called once, after construction. class_names.h explains what the host does with the names.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "class_names.h"
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

template <class T, class = void>
inline constexpr bool has_class_names = false;
template <class T>
inline constexpr bool has_class_names<T, std::void_t<decltype(std::declval<const T&>().class_names())>> = true;

// The author's names together with the structs that borrow from them.
class ClassLists {
 public:
  explicit ClassLists(std::vector<ClassNames> classes) : lists_(take(std::move(classes))) {}

  void hand_out(const tenon_class_names* const** classes, uint64_t* count) const { lists_.hand_out(classes, count); }

 private:
  struct List {
    explicit List(ClassNames given) : classes(std::move(given)) {
      if (!classes.names.empty() && classes.count != classes.names.size()) {
        throw Error(TENON_INVALID_ARGUMENT, "class_names() returned " + std::to_string(classes.names.size()) +
                                                " names and a count of " + std::to_string(classes.count) +
                                                " for the field \"" + classes.field + "\"");
      }
      for (const std::string& name : classes.names) names.push_back(borrow(name));
    }
    List(List&&) = default;
    List(const List&) = delete;

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

  static std::vector<List> take(std::vector<ClassNames> classes) {
    std::vector<List> lists;
    lists.reserve(classes.size());
    for (ClassNames& one : classes) lists.emplace_back(std::move(one));
    return lists;
  }

  const Table<List> lists_;
};

}  // namespace detail

}  // namespace tenon
