// The texts of tokens that a model wrote or a dataset holds.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/tokenizer.h"

namespace tenon::host {

// Returns a text for each row of integers [N, ...], or of scores [N, ..., V], where V is at least the vocabulary; the
// token is the largest of the vocabulary. `name`: the output or field, for messages. Throws Error(configuration) for
// another tensor, and Error(data) for a token outside the vocabulary.
std::vector<std::string> read_texts(const std::string& name, const at::Tensor& tensor,
                                    const components::Tokenizer& tokenizer);

}  // namespace tenon::host
