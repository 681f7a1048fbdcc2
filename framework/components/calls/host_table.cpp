#include "framework/components/calls/host_table.h"

#include <string>
#include <utility>

#include <tenon/draft/images.h>
#include <tenon/draft/loss_sums.h>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/image_library.h"
#include "framework/components/calls/run_view.h"
#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::components {
namespace {

const void* (*find_extension)(std::string_view id) = nullptr;

tenon_status note_failure(tenon_status status, tenon_string message) {
  detail::failure.assign(message.data ? message.data : "", message.size);
  return status == TENON_OK ? TENON_FAILED : status;  // TENON_OK would hide the failure
}

thread_local const std::string* log_name = nullptr;

void log(uint32_t level, tenon_string message) {
  std::string line;
  if (log_name) line = *log_name + ": ";
  if (const Component* component = breadcrumb().component) line += component->plugin->id + ": ";
  line += to_string(message);
  if (level <= TENON_LOG_DEBUG)
    support::log_debug(line);
  else if (level == TENON_LOG_INFO)
    support::log_info(line);
  else
    support::log_warning(line);
}

tenon_status param(const tenon_params* params, tenon_string name, tenon_value* out) {
  const auto found = params->by_name.find(std::string_view(name.data, name.size));
  if (found != params->by_name.end()) {
    *out = found->second;
    return TENON_OK;
  }
  std::vector<std::string> known;
  for (const auto& [known_name, value] : params->by_name) known.push_back(known_name);
  const std::string requested = to_string(name);
  return fail(TENON_NOT_FOUND, "the schema has no parameter \"{}\"{}", requested,
              formats::suggest_name(requested, known));
}

tenon_status no_tensors() { return fail(TENON_UNSUPPORTED, "this host runs without LibTorch"); }

const void* get_extension(tenon_string id) {
  const std::string text = to_string(id);
  if (text == TENON_RUN_PROGRESS) return &run_progress_extension();
  if (text == TENON_RUN_METRICS) return &run_metrics_extension();
  if (text == TENON_RUN_VALUES) return &run_values_extension();
  if (text == TENON_LOSS_SUMS) {
    static constexpr tenon_loss_sums kAddsSums{sizeof(tenon_loss_sums), nullptr};
    return &kAddsSums;
  }
  if (text == TENON_IMAGES) return &open_image_library(host_table());
  return find_extension ? find_extension(text) : nullptr;
}

tenon_host make_table() {
  tenon_host table{};
  table.size = sizeof table;
  table.abi = TENON_ABI_CURRENT;
  table.fail = note_failure;
  table.log = log;
  table.param = param;
  table.retain = [](tenon_tensor*) {};
  table.release = [](tenon_tensor*) {};
  table.tensor_info = [](const tenon_tensor*, tenon_tensor_info*) { return no_tensors(); };
  table.tensor_data = [](tenon_tensor*, void**) { return no_tensors(); };
  table.op = [](tenon_string, tenon_string, const tenon_op**) { return no_tensors(); };
  table.call = [](const tenon_frame*, const tenon_op*, const tenon_value*, uint64_t, const tenon_named_value*, uint64_t,
                  tenon_value*, uint64_t) { return no_tensors(); };
  table.make_tensor = [](const tenon_frame*, int32_t, const int64_t*, uint32_t, const void*, tenon_tensor**) {
    return no_tensors();
  };
  table.append = [](const tenon_frame*, uint64_t, tenon_tensor*) { return no_tensors(); };
  table.get_extension = get_extension;
  return table;
}

tenon_host& mutable_table() {
  static tenon_host table = make_table();
  return table;
}

}  // namespace

LogName::LogName(const std::string& name) : before_(std::exchange(log_name, &name)) {}
LogName::~LogName() { log_name = before_; }

const tenon_host& host_table() { return mutable_table(); }

tenon_status fail(tenon_status status, const std::string& text) { return note_failure(status, to_tenon(text)); }

void install_tensor_functions(const TensorFunctions& functions) {
  tenon_host& table = mutable_table();
  table.retain = functions.retain;
  table.release = functions.release;
  table.tensor_info = functions.tensor_info;
  table.tensor_data = functions.tensor_data;
  table.op = functions.op;
  table.call = functions.call;
  table.make_tensor = functions.make_tensor;
  table.append = functions.append;
  find_extension = functions.get_extension;
}

}  // namespace tenon::components

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
      for (const std::string& text : list) converted.push_back(tenon::components::to_tenon(text));
      return tenon_list_value(TENON_VALUE_STRINGS, converted.data(), converted.size());
    }
  };
  for (const auto& [name, value] : values) by_name.emplace(name, std::visit(Convert{texts_}, value));
}
