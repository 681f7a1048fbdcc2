// Further names of tensors, in C++. A model defines:
//
//   static std::vector<tenon::TiedWeight> tied_weights() { return {{"lm_head.weight", "transformer.wte.weight"}}; }
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "detail/guard.hpp"
#include "detail/table.hpp"
#include "tied_weights.h"

namespace tenon {

struct TiedWeight {
  std::string name;    // the further name
  std::string tensor;  // the name in build()
};

namespace detail {

template <class T, class = void>
inline constexpr bool has_tied_weights = false;
template <class T>
inline constexpr bool has_tied_weights<T, std::void_t<decltype(T::tied_weights())>> = true;

// The extension of a component.
template <class T>
struct TENON_HIDDEN TiedWeightsExtension {
  static constexpr bool is_provided = has_tied_weights<T>;
  static constexpr std::string_view id = TENON_TIED_WEIGHTS;

  static tenon_status names(void*, const tenon_tied_weight** names, uint64_t* count) {
    return guard([&] {
      static const std::vector<TiedWeight> texts = T::tied_weights();
      static const std::vector<tenon_tied_weight> list = [] {
        std::vector<tenon_tied_weight> made;
        for (const TiedWeight& one : texts) made.push_back({borrow(one.name), borrow(one.tensor)});
        return made;
      }();
      *names = list.data();
      *count = list.size();
    });
  }

  static constexpr tenon_tied_weights table = {sizeof(tenon_tied_weights), &names};
};

}  // namespace detail
}  // namespace tenon
