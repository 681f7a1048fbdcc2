// Makes a field of a value outside of a dataset's data, see tenon/draft/value_encoder.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/draft/value_encoder.h>

#include "framework/components/calls/component.h"
#include "framework/config/toml/value.h"

namespace tenon::components {

class ValueEncoder {
 public:
  // The encoder of a field of the dataset; null if it has none. `params`: of the dataset; those of the type path are
  // left out. Throws Error as call_plugin does.
  static std::unique_ptr<ValueEncoder> make(const Component& dataset, const config::Values& params,
                                            const std::string& fitted, const std::string& field);
  ~ValueEncoder();
  ValueEncoder(const ValueEncoder&) = delete;
  ValueEncoder& operator=(const ValueEncoder&) = delete;

  // Names of the cells of a row; empty: the value is a text.
  const std::vector<std::string>& columns() const { return columns_; }

  // [any thread] Writes the field of the cells, or of one text, to the slot 0 of the sink. Throws Error as call_plugin
  // does. `place()`: of the value, for messages.
  void encode(const std::vector<tenon_string>& texts, const tenon_sink& sink, const std::string& place) const;

 private:
  ValueEncoder(const Component& dataset, const tenon_value_encoder& table) : dataset_(dataset), table_(table) {}
  void read_columns();

  const Component& dataset_;
  const tenon_value_encoder& table_;
  void* self_ = nullptr;
  std::vector<std::string> columns_;
};

}  // namespace tenon::components
