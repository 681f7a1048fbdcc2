#include "host/predict/prediction_texts.h"

#include <ATen/ATen.h>
#include <span>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::host {

namespace {

// Returns [N, T] of int64, contiguous on the CPU.
at::Tensor read_tokens(const std::string& name, const at::Tensor& tensor, const components::Tokenizer& tokenizer) {
  const bool is_scores = c10::isFloatingType(tensor.scalar_type());
  const bool fits = is_scores ? tensor.dim() >= 2 && tensor.size(-1) >= tokenizer.vocabulary_size()
                              : tensor.dim() >= 1 && c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
  if (!fits)
    throw support::Error(support::ErrorKind::configuration,
                         "the text of " + name + ": it is " + components::describe(tensor) +
                             "; expected integers [N, T], or scores [N, T, V] with V of at least " +
                             std::to_string(tokenizer.vocabulary_size()) +
                             ", the tokenizer's vocabulary: use the tokenizer with which the weights were trained");
  // A model may have more tokens than the tokenizer, which no text contains.
  const at::Tensor tokens = is_scores ? tensor.narrow(-1, 0, tokenizer.vocabulary_size()).argmax(-1) : tensor;
  return tokens.reshape({tokens.size(0), -1}).to(at::kCPU, at::kLong).contiguous();
}

}  // namespace

std::vector<std::string> read_texts(const std::string& name, const at::Tensor& tensor,
                                    const components::Tokenizer& tokenizer) {
  const at::Tensor tokens = read_tokens(name, tensor, tokenizer);
  const auto width = static_cast<size_t>(tokens.size(1));
  std::vector<std::string> texts;
  for (int64_t row = 0; row < tokens.size(0); ++row)
    texts.push_back(
        tokenizer.decode(std::span(tokens.const_data_ptr<int64_t>() + static_cast<size_t>(row) * width, width)));
  return texts;
}

}  // namespace tenon::host
