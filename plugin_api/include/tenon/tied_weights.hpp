// Further names of tensors, in C++. A model defines a function that returns pairs of a further name and the name in
// build():
//
//   static std::vector<std::pair<std::string, std::string>> tied_weights() {
//     return {{"lm_head.weight", "transformer.wte.weight"}};
//   }
#pragma once

#include <string_view>
#include <type_traits>

#include "detail/name_pairs.hpp"
#include "tied_weights.h"

namespace tenon::detail {

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
      static const NamePairs<tenon_tied_weight> pairs(T::tied_weights());
      pairs.hand_out(names, count);
    });
  }

  static constexpr tenon_tied_weights table = {sizeof(tenon_tied_weights), &names};
};

}  // namespace tenon::detail
