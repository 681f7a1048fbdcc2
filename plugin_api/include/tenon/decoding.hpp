// Continuing sequences token by token, in C++. decoding.h explains the cache. A model defines:
//
//   tenon::Decoding decoding() const { return {"tokens", "logits", /*cache_tensors=*/2, /*context=*/128}; }
//   tenon::Decoded decode(const tenon::Frame& frame, const tenon::Inputs& inputs,
//                         const std::vector<tenon::Tensor>& cache) const;
//
// In the first call of a sequence the cache is empty and all inputs are given. In later calls inputs["tokens"] holds
// one new token, [N, 1], and the other inputs are empty tensors. A native model (torch.hpp) has inputs and cache as
// std::vector<torch::Tensor>, inputs in the order of the ports, and returns a tenon::TorchDecoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decoding.h"
#include "detail/detect.hpp"
#include "detail/instance.hpp"
#include "tensor.hpp"

namespace tenon {

// What decoding needs to know, see tenon_decoding_info.
struct Decoding {
  std::string tokens;          // name of the input with the tokens so far
  std::string scores;          // name of the output with the scores of the token after each of them
  uint64_t cache_tensors = 1;  // number of tensors in the cache
  int64_t context = 0;         // the most tokens of a sequence; 0: no limit
};

// The result of decode.
struct Decoded {
  Tensor scores;              // [N, V], of the token after the last token
  std::vector<Tensor> cache;  // [N, ...] each
};

namespace detail {

TENON_DETECT(decoding, std::declval<const T&>().decoding());

// The author's names together with the struct that borrows from them.
class DecodingInfo {
 public:
  explicit DecodingInfo(Decoding decoding) : decoding_(std::move(decoding)) {
    info_.size = sizeof info_;
    info_.tokens = borrow(decoding_.tokens);
    info_.scores = borrow(decoding_.scores);
    info_.cache_count = decoding_.cache_tensors;
    info_.context = decoding_.context;
  }
  DecodingInfo(const DecodingInfo&) = delete;
  DecodingInfo& operator=(const DecodingInfo&) = delete;

  void hand_out(const tenon_decoding_info** info) const { *info = &info_; }

 private:
  const Decoding decoding_;
  tenon_decoding_info info_ = {};
};

// Returns the description of a model's instance; that of an empty Decoding if T has none.
template <class T>
Decoding decoding_of([[maybe_unused]] const T& model) {
  if constexpr (has_decoding<T>) return model.decoding();
  return {};
}

inline void require_cache(uint64_t found, uint64_t expected) {
  require_count("decode returned a cache of ", found, " tensors; decoding() declares ", expected);
}

// The extension of a model. The member function `decode` of the instance has the arguments of tenon_decoding.forward.
template <class T, class Instance>
struct TENON_HIDDEN DecodingExtension {
  static constexpr bool is_provided = has_decoding<T>;
  static constexpr std::string_view id = TENON_DECODING;
  static constexpr tenon_decoding table = {sizeof(tenon_decoding), &hand_out_member<Instance, &Instance::decoding>,
                                           &call_member<Instance, &Instance::decode>};
};

}  // namespace detail
}  // namespace tenon
