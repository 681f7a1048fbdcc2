// Further names of tensors, in C++. A model defines a function that returns pairs of a further name and the name in
// build(), which is called after build():
//
//   std::vector<std::pair<std::string, std::string>> tied_weights() const {
//     return {{"lm_head.weight", "transformer.wte.weight"}};
//   }
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "detail/name_pairs.hpp"
#include "tied_weights.h"

namespace tenon::detail {

template <class T, class = void>
inline constexpr bool has_tied_weights = false;
template <class T>
inline constexpr bool has_tied_weights<T, std::void_t<decltype(std::declval<const T&>().tied_weights())>> = true;

// The extension of a component. Owner::tied_weights(self) returns the list of an instance, which is empty until it is
// requested.
template <class T, class Owner>
struct TENON_HIDDEN TiedWeightsExtension {
  static constexpr bool is_provided = has_tied_weights<T>;
  static constexpr std::string_view id = TENON_TIED_WEIGHTS;

  static tenon_status names(void* self, const tenon_tied_weight** names, uint64_t* count) {
    return guard([&] {
      std::unique_ptr<const NamePairs<tenon_tied_weight>>& pairs = Owner::tied_weights(self);
      pairs = std::make_unique<const NamePairs<tenon_tied_weight>>(Owner::component(self).tied_weights());
      pairs->hand_out(names, count);
    });
  }

  static constexpr tenon_tied_weights table = {sizeof(tenon_tied_weights), &names};
};

}  // namespace tenon::detail
