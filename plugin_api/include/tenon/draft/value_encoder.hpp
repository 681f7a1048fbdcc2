// Datasets in C++ that make a field of a value outside of their data, see value_encoder.h. Such a class defines
//
//   // Null if the dataset cannot make the field of a value. `params`: those of the type path are empty.
//   static std::unique_ptr<tenon::draft::ValueEncoder> make_encoder(const tenon::Params& params, std::string_view
//   fitted,
//                                                                   const std::string& field);
//
// and is registered with tenon::draft::with_value_encoder<T>(dataset<T>("id", "one line")).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../dataset.hpp"
#include "../detail/added_extension.hpp"
#include "value_encoder.h"

namespace tenon::draft {

// The memory of the field.
class TENON_HIDDEN EncodedSlot {
 public:
  explicit EncodedSlot(const tenon_sink* sink) : sink_(sink) {}

  // `shape`: that of the field, with an extent of 0 or more in place of each -1. T: the type of its dtype.
  template <class T>
  T* open(const std::vector<int64_t>& shape) const {
    void* memory = nullptr;
    tenon::detail::check(sink_->slot(sink_, 0, shape.data(), static_cast<uint32_t>(shape.size()), &memory));
    return static_cast<T*>(memory);
  }

 private:
  const tenon_sink* sink_;
};

class TENON_HIDDEN ValueEncoder {
 public:
  virtual ~ValueEncoder() = default;
  // Names of the cells of a row; empty: the value is a text.
  virtual const std::vector<std::string>& columns() const = 0;
  // Called by several threads at the same time. `texts`: the cells in the order of the columns, or one text. Throws
  // tenon::DataError for a value that no sample could have.
  virtual void encode(const std::vector<std::string_view>& texts, const EncodedSlot& slot) const = 0;
};

namespace detail {

template <class T>
struct TENON_HIDDEN EncoderTable {
  struct Instance {
    std::unique_ptr<ValueEncoder> encoder;
    std::vector<tenon_string> columns;
  };

  static tenon_status create(const tenon_host*, const tenon_params* params, tenon_string fitted, tenon_string field,
                             void** self) {
    tenon_status status = TENON_OK;
    const tenon_status caught = tenon::detail::guard([&] {
      auto made = std::make_unique<Instance>();
      made->encoder =
          T::make_encoder(Params(params), std::string_view(fitted.data, fitted.size), tenon::detail::copy(field));
      if (!made->encoder) {
        status = tenon::detail::fail(TENON_NOT_FOUND, "the dataset does not make this field of a value");
        return;
      }
      for (const std::string& column : made->encoder->columns()) made->columns.push_back(tenon::detail::borrow(column));
      *self = made.release();
    });
    return caught != TENON_OK ? caught : status;
  }
  static void destroy(void* self) { delete static_cast<Instance*>(self); }
  static tenon_status describe(void* self, tenon_value_encoder_info* out) {
    return tenon::detail::guard([&] {
      out->columns = static_cast<Instance*>(self)->columns.data();
      out->column_count = static_cast<Instance*>(self)->columns.size();
    });
  }
  static tenon_status encode(void* self, const tenon_string* texts, uint64_t count, const tenon_sink* sink) {
    return tenon::detail::guard([&] {
      std::vector<std::string_view> views;
      for (uint64_t i = 0; i < count; ++i) views.emplace_back(texts[i].data, texts[i].size);
      static_cast<Instance*>(self)->encoder->encode(views, EncodedSlot(sink));
    });
  }

  static constexpr std::string_view id = TENON_VALUE_ENCODER;
  static constexpr tenon_value_encoder table = {sizeof(tenon_value_encoder), &create, &destroy, &describe, &encode};
};

}  // namespace detail

// Adds the extension to a dataset of the class T.
template <class T>
Component with_value_encoder(Component made) {
  return tenon::detail::add_extension<T, detail::EncoderTable<T>>(std::move(made));
}

}  // namespace tenon::draft
