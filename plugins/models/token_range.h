// Whether tokens are in a model's vocabulary, for models that look them up.
#pragma once

#include <tenon/plugin.hpp>

#include <algorithm>
#include <string>

namespace tenon::models {

// Throws Error naming the first token that is not in [0, vocabulary_size). Looks at them only where they are in the
// host's memory, where looking costs no wait for a device; elsewhere the device refuses, in its own words.
inline void check_tokens(const Tensor& tokens, const std::string& name, int64_t vocabulary_size) {
  void* elements = nullptr;
  if (detail::host->tensor_data(tokens.handle(), &elements) != TENON_OK) return;
  const auto* const first = static_cast<const int64_t*>(elements);
  const auto* const last = first + tokens.numel();
  const auto* const outside =
      std::find_if(first, last, [&](int64_t token) { return token < 0 || token >= vocabulary_size; });
  if (outside == last) return;
  throw Error(TENON_INVALID_ARGUMENT, name + " holds the token " + std::to_string(*outside) +
                                          "; expected tokens in [0, " + std::to_string(vocabulary_size) +
                                          "); set params.vocabulary_size to that of the tokenizer");
}

}  // namespace tenon::models
