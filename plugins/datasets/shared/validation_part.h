// Which samples of one collection are kept for validation, whatever others there are.
#pragma once

#include <string_view>

#include <tenon/random.hpp>

#include "plugins/hash_text.h"

namespace datasets {

// Whether the sample of that name belongs to the part of about `fraction` of all names that is for validation. A
// function of both alone: adding or removing samples moves no other from one part to the other.
inline bool is_validation_name(std::string_view name, double fraction) {
  // The hash alone leaves similar names with similar numbers; the generator mixes them.
  return tenon::Random(plugins::hash_text(name)).uniform() < fraction;
}

}  // namespace datasets
