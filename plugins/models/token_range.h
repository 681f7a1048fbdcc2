// Checks that tokens are in the vocabulary, for models with an embedding table.
#pragma once

#include <tenon/plugin.hpp>

#include <algorithm>
#include <string>

namespace tenon::models {

// Throws Error naming the first token that is not in [0, vocabulary_size). Checks only tensors in CPU memory, where the
// check does not synchronise with a device. Other devices report the error themselves.
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
