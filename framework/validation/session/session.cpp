#include "framework/validation/session/session.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/plugin_transforms.h"
#include "framework/components/kinds/dataset.h"
#include "framework/components/loading/check_plugin.h"
#include "framework/components/loading/plugin_files.h"
#include "framework/components/loading/shared_library.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/config/resolve/resolve_component.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"
#include "framework/validation/session/child_process.h"

namespace tenon::validation {

using support::Error;
using support::ErrorKind;

Session::Session(std::filesystem::path file, uint64_t seed, std::vector<GivenParams> given)
    : file_(std::move(file)), seed_(seed), given_(std::move(given)) {
  components::detail::call_observer = this;
  components::detail::restores_settings = false;
  // As in a run, so that a plugin that resets them is found.
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal, [](int number) { _exit(128 + number); });
}

Session::~Session() { components::detail::call_observer = nullptr; }

void Session::open(const std::string& component) {
  record_host_descriptors();
  record_call(TENON_ENTRY_SYMBOL, "");
  plugin_ = components::load_plugin(components::inspect_plugin_file(file_), components::host_table(),
                                    components::torch_build());
  clear_call_record();
  for (const components::Component& one : plugin_.components)
    if (one.schema.kind == config::ComponentKind::transform) components::offer_transform(one);
  if (component.empty()) return;
  const auto found = std::ranges::find(plugin_.components, component, name_of);
  if (found == plugin_.components.end())
    throw Error(ErrorKind::configuration, "{}: there is no {} in it", file_.string(), component);
  component_ = &*found;
  plan_ = plan_of(*found, given_);
}

void Session::prepare(const config::ComponentPlan& plan) const {
  if (component().schema.kind == config::ComponentKind::dataset) components::prepare_dataset(component(), plan);
}

void Session::before_call(const char* function, const std::string& what) {
  record_call(function, what);
  if (watched_) watched_before_ = watched_->read();
  std::fegetenv(&floating_point_);
}

void Session::after_call(const components::Component&, const char* function, tenon_status status,
                         const std::exception_ptr& escaped) {
  clear_call_record();
  if (watched_ && changed_in_.empty() && watched_->is_changed(watched_before_, watched_->read()))
    changed_in_ = function;
  std::fesetenv(&floating_point_);  // so that only one check reports a change of the modes
  last_status_ = status;
  last_reason_ = components::detail::failure;
  if (status == TENON_OK && !escaped && !last_reason_.empty())
    violations_.try_emplace(function, "ignores an error: " + last_reason_);
  if (escaped && !escaped_) {
    escaped_ = escaped;
    escaped_from_ = function;
  }
}

void Session::require_reason(const std::string& what) const {
  if (last_status_ == TENON_OK) throw;
  if (last_reason_.empty())
    throw Failed("{} returns status {} and no reason; expected a call of host->fail with a text first", what,
                 last_status_);
}

void Session::on_violation(const std::string& what) {
  violations_.try_emplace(components::breadcrumb().function, what);
}

void Session::require_no_violation(const std::string& function, const std::string& what) const {
  if (const auto found = violations_.find(function); found != violations_.end())
    throw Failed(what + " " + found->second);
}

void Session::require_no_escaped() const {
  if (escaped_) components::detail::throw_escaped(component(), escaped_from_.c_str(), escaped_, "");
}

std::string name_of(const components::Component& component) {
  return fmt::format("{}.{}", config::to_string(component.schema.kind), component.schema.id);
}

tenon_reply call_entry(const std::filesystem::path& file) {
  const components::ResultScope scope(file.c_str());
  record_host_descriptors();
  record_call("the loader, or an initialiser of the library", "");
  components::open_symbol(file, TENON_ENTRY_SYMBOL);
  record_call(TENON_ENTRY_SYMBOL, "");
  const tenon_reply reply = components::open_plugin(file, components::host_table());
  clear_call_record();
  components::negotiate_abi(file, reply);
  return reply;
}

config::ComponentPlan plan_of(const components::Component& component, const std::vector<GivenParams>& given) {
  const std::string name = name_of(component);
  const std::string option = "--params " + name;
  const config::SourceLocation place{option, 0, 0};
  static const config::Node::Table kNothing;
  const config::Node::Table* table = &kNothing;
  std::optional<config::Node> node;
  for (const GivenParams& one : given) {
    if (one.component != name) continue;
    node = config::parse_toml_value(one.table, place);
    table = node ? node->as_table() : nullptr;
    if (!table)
      throw Error(ErrorKind::configuration, "{}: `{}` is not a TOML table; expected a table such as {{ classes = 10 }}",
                  option, one.table);
  }
  config::Diagnostics diagnostics;
  config::RunConfig run;
  run.folder = support::find_working_folder(ErrorKind::configuration);
  const config::ParamsRequest request{component.schema.id, component.schema.params, *table, "params", place, run};
  config::ComponentPlan plan;
  plan.use = component.schema.id;
  plan.place = option;
  plan.params = config::resolve_params(request, diagnostics);
  diagnostics.throw_if_any();
  return plan;
}

}  // namespace tenon::validation
