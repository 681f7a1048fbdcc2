// Datasets in C++ that derive something from the training data, see fitted_data.h. Such a class defines
//
//   T(const tenon::Params& params, std::string_view fitted);  // `fitted`: what fitted_data() of the training data
//                                                             // returned; empty: derive it from these data
//   std::string fitted_data() const;                          // any bytes, at least one
//
// in place of T(params), and is registered with tenon::draft::fitted_dataset<T>("id", "one line").
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "../dataset.hpp"
#include "fitted_data.h"

namespace tenon::draft {

namespace detail {

// Passes the bytes to the constructor, which the table of a dataset calls with parameters alone.
template <class T>
class TENON_HIDDEN Fitted : public T {
 public:
  explicit Fitted(const Params& params) : T(params, given()) {}

  // The bytes of the current call of create() on this thread.
  static std::string_view& given() {
    static thread_local std::string_view bytes;
    return bytes;
  }
};

template <class T>
struct TENON_HIDDEN FittedTable {
  using Instance = tenon::detail::DatasetInstance<Fitted<T>>;

  static tenon_status save(void* self, const tenon_text_sink* sink) {
    return tenon::detail::guard([&] {
      const std::string bytes = static_cast<Instance*>(self)->component.fitted_data();
      tenon::detail::check(sink->put(sink, tenon::detail::borrow(bytes)));
    });
  }

  static tenon_status create(const tenon_host* host, const tenon_params* params, tenon_string fitted, void** self) {
    Fitted<T>::given() = std::string_view(fitted.data, fitted.size);
    const tenon_status status = tenon::detail::create<Instance>(host, params, self);
    Fitted<T>::given() = {};
    return status;
  }

  static const void* get_extension(tenon_string id) {
    static constexpr tenon_fitted_data kFitted = {sizeof(tenon_fitted_data), &save, &create};
    return tenon::detail::copy(id) == TENON_FITTED_DATA ? &kFitted : Instance::get_extension(id);
  }
};

}  // namespace detail

// Registers T as the dataset `id`.
template <class T>
Component fitted_dataset(std::string id, std::string doc) {
  Component made = dataset<detail::Fitted<T>>(std::move(id), std::move(doc));
  made.get_extension = &detail::FittedTable<T>::get_extension;
  return made;
}

}  // namespace tenon::draft
