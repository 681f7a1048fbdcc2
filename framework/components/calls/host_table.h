// The one tenon_host of the process, and what plugins get from it.
#pragma once

#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/host.h>
#include <tenon/parameters.h>

#include "framework/config/toml/value.h"
#include "framework/support/text/format.h"

namespace tenon::components {

// The functions of the table that LibTorch implements. In a host without LibTorch (the torch-free tests) they return
// TENON_UNSUPPORTED.
struct TensorFunctions {
  decltype(tenon_host::retain) retain;
  decltype(tenon_host::release) release;
  decltype(tenon_host::tensor_info) tensor_info;
  decltype(tenon_host::tensor_data) tensor_data;
  decltype(tenon_host::op) op;
  decltype(tenon_host::call) call;
  decltype(tenon_host::make_tensor) make_tensor;
  decltype(tenon_host::append) append;
  const void* (*get_extension)(std::string_view id);  // null for an unknown id
};

const tenon_host& host_table();

// host_table().fail, for functions of the host.
tenon_status fail(tenon_status status, const std::string& text);
// `text` is fmt::format(format, value, more...).
template <class Value, class... More>
tenon_status fail(tenon_status status, fmt::format_string<Value, More...> format, Value&& value, More&&... more) {
  return fail(status, fmt::format(format, std::forward<Value>(value), std::forward<More>(more)...));
}

// Call it once, before the first plugin is opened: see tensor_functions.h.
void install_tensor_functions(const TensorFunctions& functions);

// While it lives, lines that a plugin logs on this thread start with the name, such as that of a dataset: several
// datasets of a run may be of one plugin.
class LogName {
 public:
  explicit LogName(const std::string& name);  // must outlive this
  ~LogName();
  LogName(const LogName&) = delete;
  LogName& operator=(const LogName&) = delete;

 private:
  const std::string* before_;
};

}  // namespace tenon::components

// The parameter values of a component in the form of the C ABI. This opaque type of the C headers lives during the call
// of create().
struct tenon_params {
  explicit tenon_params(const tenon::config::Values& values);
  tenon_params(const tenon_params&) = delete;
  tenon_params& operator=(const tenon_params&) = delete;

  std::map<std::string, tenon_value, std::less<>> by_name;  // points into the Values

 private:
  std::list<std::vector<tenon_string>> texts_;  // the elements of the lists of strings
};
