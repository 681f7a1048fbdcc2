// Further names of tensors, in C++. A model defines a function that returns pairs of a further name and the name in
// build(), which is called after build():
//
//   std::vector<std::pair<std::string, std::string>> tied_weights() const {
//     return {{"lm_head.weight", "transformer.wte.weight"}};
//   }
#pragma once

#include <string_view>
#include <utility>

#include "detail/detect.hpp"
#include "detail/name_pairs.hpp"
#include "tied_weights.h"

namespace tenon::detail {

TENON_DETECT(tied_weights, std::declval<const T&>().tied_weights());

// The extension of a component. The instance's `tied_weights` is empty until it is requested.
template <class T, class Instance>
struct TENON_HIDDEN TiedWeightsExtension {
  static constexpr bool is_provided = has_tied_weights<T>;
  static constexpr std::string_view id = TENON_TIED_WEIGHTS;

  static tenon_status names(void* self, const tenon_tied_weight** names, uint64_t* count) {
    return guard([&] {
      auto& instance = *static_cast<Instance*>(self);
      instance.tied_weights = NamePairs<tenon_tied_weight>(std::as_const(instance.component).tied_weights());
      instance.tied_weights.hand_out(names, count);
    });
  }

  static constexpr tenon_tied_weights table = {sizeof(tenon_tied_weights), &names};
};

}  // namespace tenon::detail
