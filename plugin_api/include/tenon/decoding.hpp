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
#include <type_traits>
#include <utility>
#include <vector>

#include "decoding.h"
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

template <class T, class = void>
inline constexpr bool has_decoding = false;
template <class T>
inline constexpr bool has_decoding<T, std::void_t<decltype(std::declval<const T&>().decoding())>> = true;

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

  const tenon_decoding_info* get() const { return &info_; }

 private:
  const Decoding decoding_;
  tenon_decoding_info info_ = {};
};

// Returns the description of a model's instance; that of an empty Decoding if T has none.
template <class T>
Decoding decoding_of(const T& model) {
  if constexpr (has_decoding<T>) {
    return model.decoding();
  } else {
    return {};
  }
}

inline void require_cache(uint64_t found, uint64_t expected) {
  if (found == expected) return;
  throw Error(TENON_INVALID_ARGUMENT, "decode returned a cache of " + std::to_string(found) +
                                          " tensors; decoding() declares " + std::to_string(expected));
}

// The extension of a model. Owner::decoding(self) returns the DecodingInfo of an instance. Owner::decode has the
// arguments of tenon_decoding.forward.
template <class T, class Owner>
struct TENON_HIDDEN DecodingExtension {
  static constexpr bool is_provided = has_decoding<T>;
  static constexpr std::string_view id = TENON_DECODING;

  static tenon_status describe(void* self, const tenon_decoding_info** info) {
    *info = Owner::decoding(self).get();
    return TENON_OK;
  }

  static tenon_status forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                              tenon_tensor* const* cache, tenon_tensor** next_cache, uint64_t cache_count,
                              tenon_tensor** scores) {
    return Owner::decode(self, frame, inputs, input_count, cache, next_cache, cache_count, scores);
  }

  static constexpr tenon_decoding table = {sizeof(tenon_decoding), &describe, &forward};
};

}  // namespace detail
}  // namespace tenon
