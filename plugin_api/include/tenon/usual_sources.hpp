// The usual sources of inputs, in C++. A model, loss or metric defines a function that returns pairs of an input and
// the name of a field or output:
//
//   static std::vector<std::pair<std::string, std::string>> usual_sources() { return {{"target", "label"}}; }
#pragma once

#include <string_view>

#include "detail/detect.hpp"
#include "detail/name_pairs.hpp"
#include "usual_sources.h"

namespace tenon::detail {

TENON_DETECT(usual_sources, T::usual_sources());

// The extension of a component.
template <class T>
struct TENON_HIDDEN UsualSourcesExtension {
  static constexpr bool is_provided = has_usual_sources<T>;
  static constexpr std::string_view id = TENON_USUAL_SOURCES;

  static tenon_status sources(void*, const tenon_usual_source** sources, uint64_t* count) {
    return guard([&] {
      static const NamePairs<tenon_usual_source> pairs(T::usual_sources());
      pairs.hand_out(sources, count);
    });
  }

  static constexpr tenon_usual_sources table = {sizeof(tenon_usual_sources), &sources};
};

}  // namespace tenon::detail
