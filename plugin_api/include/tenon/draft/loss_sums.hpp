// Losses in C++ that are sums over items, see loss_sums.h. Such a class defines
//
//   tenon::draft::LossSum forward(const tenon::Frame& frame, const tenon::Inputs& inputs) const;
//
// in place of a forward that returns a LossResult, and is registered with tenon::draft::sum_loss<T>("id", "one line").
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../detail/added_extension.hpp"
#include "../detail/extension.hpp"
#include "../loss.hpp"
#include "../ops.hpp"
#include "loss_sums.h"

namespace tenon::draft {

namespace detail {

inline bool host_adds_sums() {
  static const bool found = tenon::detail::find_extension<tenon_loss_sums>(TENON_LOSS_SUMS) != nullptr;
  return found;
}

}  // namespace detail

// A sum and the number of items that it is divided by: {sum of the errors, number of objects}.
struct LossSum {
  LossSum(const Tensor& sum, const Tensor& items) : total(sum), count(items) {}

  // A host without the extension gets means over at least one item: batches without items count as one each, so their
  // gradient depends on how a step is split.
  operator LossResult() const {  // NOLINT(google-explicit-constructor)
    const bool adds_sums = detail::host_adds_sums();
    const Tensor items = adds_sums ? count : clamp_min(to_dtype(count, TENON_FLOAT32), 1.0);
    LossResult result(adds_sums ? total : total / items, items);
    for (const Tensor& part : parts) result.parts.push_back(adds_sums || !part ? part : part / items);
    return result;
  }

  Tensor total;                    // a scalar
  Tensor count;                    // a scalar of any dtype, 0 or more
  std::vector<Tensor> parts = {};  // sums, in the order of parts()
};

namespace detail {

struct TENON_HIDDEN LossSumsExtension {
  static tenon_status returns_sums(void*, uint32_t* result) {
    *result = host_adds_sums() ? 1 : 0;
    return TENON_OK;
  }

  static constexpr std::string_view id = TENON_LOSS_SUMS;
  static constexpr tenon_loss_sums table = {sizeof(tenon_loss_sums), &returns_sums};
};

}  // namespace detail

// Registers T as the loss `id`.
template <class T>
Component sum_loss(std::string id, std::string doc) {
  return tenon::detail::add_extension<T, detail::LossSumsExtension>(loss<T>(std::move(id), std::move(doc)));
}

}  // namespace tenon::draft
