// Chooses the validation samples of a collection, independently of the other samples.
#pragma once

#include <string_view>

#include <tenon/random.hpp>

#include "plugins/hash_text.h"

namespace datasets {

// Returns whether the sample with that name is in the validation part, which has about `fraction` of all names. The
// result depends only on the arguments: adding or removing samples moves no other sample between the parts.
inline bool is_validation_name(std::string_view name, double fraction) {
  // Similar names may have similar hashes, so the generator mixes the hash.
  return tenon::Random(components::hash_text(name)).uniform() < fraction;
}

}  // namespace datasets
