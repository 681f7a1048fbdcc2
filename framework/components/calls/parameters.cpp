#include "framework/components/calls/parameters.h"

#include "framework/components/calls/component.h"

using tenon::components::to_tenon;

tenon_params::tenon_params(const tenon::config::Values& values) {
  struct Convert {
    std::list<std::vector<tenon_string>>& texts;
    tenon_value operator()(bool truth) const { return tenon_bool(truth); }
    tenon_value operator()(int64_t number) const { return tenon_int(number); }
    tenon_value operator()(double number) const { return tenon_float(number); }
    tenon_value operator()(const std::string& text) const { return tenon_text(text.data(), text.size()); }
    tenon_value operator()(const std::vector<int64_t>& list) const { return tenon_ints(list.data(), list.size()); }
    tenon_value operator()(const std::vector<double>& list) const {
      return tenon_list_value(TENON_VALUE_FLOATS, list.data(), list.size());
    }
    tenon_value operator()(const std::vector<std::string>& list) const {
      std::vector<tenon_string>& converted = texts.emplace_back();
      for (const std::string& text : list) converted.push_back(to_tenon(text));
      return tenon_list_value(TENON_VALUE_STRINGS, converted.data(), converted.size());
    }
  };
  for (const auto& [name, value] : values) by_name.emplace(name, std::visit(Convert{texts_}, value));
}
