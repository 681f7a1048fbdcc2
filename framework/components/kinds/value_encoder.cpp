#include "framework/components/kinds/value_encoder.h"

#include <exception>
#include <utility>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/kinds/instance.h"

namespace tenon::components {

namespace {

// With an empty text for each path.
config::Values complete_params(const Component& dataset, config::Values params) {
  for (const config::ParamSchema& param : dataset.schema.params)
    if (param.type == config::ParamType::path) params[param.name] = std::string();
  return params;
}

}  // namespace

std::unique_ptr<ValueEncoder> ValueEncoder::make(const Component& dataset, const config::Values& params,
                                                 const std::string& fitted, const std::string& field) {
  const auto* const table = extension_of<tenon_value_encoder>(dataset, TENON_VALUE_ENCODER);
  if (!table) return nullptr;
  std::unique_ptr<ValueEncoder> encoder(new ValueEncoder(dataset, *table));
  const config::Values complete = complete_params(dataset, params);
  const tenon_params given(complete);
  bool has_encoder = true;
  call_plugin(dataset, "value_encoder.create", [&] {
    const tenon_status status =
        table->create(&host_table(), &given, to_tenon(fitted), to_tenon(field), &encoder->self_);
    has_encoder = status != TENON_NOT_FOUND;
    return has_encoder ? status : TENON_OK;
  });
  if (!has_encoder) return nullptr;
  encoder->read_columns();
  return encoder;
}

ValueEncoder::~ValueEncoder() {
  if (!self_) return;
  try {
    call_plugin(dataset_, "value_encoder.destroy", [&] {
      table_.destroy(self_);
      return TENON_OK;
    });
  } catch (const std::exception&) {
    // A destructor cannot report an error, and the prediction does not depend on it.
  }
}

void ValueEncoder::read_columns() {
  tenon_value_encoder_info info{};
  info.size = sizeof info;
  call_plugin(dataset_, "value_encoder.describe", [&] { return table_.describe(self_, &info); });
  require_list(dataset_, "value_encoder.describe", info.columns, info.column_count, "columns", "a list of names");
  const ResultScope reading(dataset_, "value_encoder.describe, reading its result");
  for (uint64_t i = 0; i < info.column_count; ++i) columns_.push_back(to_string(info.columns[i]));
}

void ValueEncoder::encode(const std::vector<tenon_string>& texts, const tenon_sink& sink,
                          const std::string& place) const {
  call_plugin(
      dataset_, "value_encoder.encode", [&] { return table_.encode(self_, texts.data(), texts.size(), &sink); },
      [&] { return place; });
}

}  // namespace tenon::components
