// Lists of descriptors in two forms: the author's items, and the array of pointers that is passed to the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "guard.hpp"

namespace tenon::detail {

// An array of pointers to descriptors, so that descriptors may grow. The pointers are valid while this object lives.
template <class Descriptor>
class Pointers {
 public:
  explicit Pointers(std::vector<Descriptor> items) : items_(std::move(items)) {
    for (const Descriptor& item : items_) pointers_.push_back(&item);
  }
  Pointers(const Pointers&) = delete;
  Pointers& operator=(const Pointers&) = delete;

  const Descriptor* const* data() const { return pointers_.data(); }
  uint64_t size() const { return pointers_.size(); }

 private:
  const std::vector<Descriptor> items_;
  std::vector<const Descriptor*> pointers_;
};

// The author's items together with their descriptors, which borrow from them. Item::describe() returns the descriptor.
template <class Item>
class Table {
 public:
  using Descriptor = decltype(std::declval<const Item&>().describe());

  explicit Table(std::vector<Item> items) : items_(std::move(items)), pointers_(describe(items_)) {}

  const std::vector<Item>& items() const { return items_; }

  void hand_out(const Descriptor* const** descriptors, uint64_t* count) const {
    *descriptors = pointers_.data();
    *count = pointers_.size();
  }

  // Returns the index of an item. Throws Error that lists the available names.
  size_t index(std::string_view name) const {
    for (size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].name == name) return i;
    }
    std::string known;
    for (const Item& item : items_) known += (known.empty() ? "" : ", ") + item.name;
    throw Error(TENON_NOT_FOUND, "there is no \"" + std::string(name) + "\"; there are: " + known);
  }

 private:
  static std::vector<Descriptor> describe(const std::vector<Item>& items) {
    std::vector<Descriptor> descriptors;
    for (const Item& item : items) descriptors.push_back(item.describe());
    return descriptors;
  }

  const std::vector<Item> items_;
  const Pointers<Descriptor> pointers_;
};

}  // namespace tenon::detail
