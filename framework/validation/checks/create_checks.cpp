#include <algorithm>
#include <cmath>
#include <cstdint>

#include <tenon/capture.h>
#include <tenon/class_names.h>
#include <tenon/decoding.h>
#include <tenon/draft/memory_format.h>
#include <tenon/draft/validation.h>
#include <tenon/frozen_parameters.h>
#include <tenon/index_inputs.h>
#include <tenon/parameter_roles.h>
#include <tenon/prepare.h>
#include <tenon/preprocessing.h>
#include <tenon/sample_names.h>
#include <tenon/sample_order.h>
#include <tenon/saved_state.h>
#include <tenon/tied_weights.h>
#include <tenon/tokenizer.h>
#include <tenon/usual_sources.h>

#include "framework/components/kinds/parameter_roles.h"
#include "framework/support/diagnostics/error.h"
#include "framework/validation/checks/check_exceptions.h"
#include "framework/validation/checks/checks.h"

namespace tenon::validation {

namespace {

using config::ComponentKind;
using config::ParamSchema;
using config::ParamType;
using config::Value;

void check_create(Session& session) { session.create(); }

// Creates two instances at once, destroys them in the order of creation, and creates a third.
void check_create_again(Session& session) {
  {
    std::vector<components::Instance<AnyTable>> both;
    both.push_back(session.create());
    both.push_back(session.create());
  }
  session.create();
}

// Values at the edges of what the schema allows. Without a bound, the values stay small enough to allocate.
std::vector<double> edge_numbers(const ParamSchema& param) {
  std::vector<double> numbers{-1, 0, 1, 2, 7, 1000};
  if (param.range) {
    for (const double edge : {param.range->lower, param.range->upper})
      if (std::isfinite(edge)) numbers.insert(numbers.end(), {edge, edge + 1, edge - 1});
  }
  if (param.type == ParamType::floating || param.type == ParamType::floats)
    numbers.insert(numbers.end(), {1e-30, 0.5, -0.5, 1e30});
  std::erase_if(numbers, [&](double number) {
    return (param.range && !param.range->contains(number)) || std::abs(number) > 1e30;
  });
  return numbers;
}

std::vector<int64_t> edge_integers(const ParamSchema& param) {
  std::vector<int64_t> integers;
  for (const double number : edge_numbers(param))
    if (std::abs(number) < 1e6) integers.push_back(static_cast<int64_t>(number));
  return integers;
}

std::vector<std::string> edge_texts(const ParamSchema& param) {
  if (!param.choices.empty()) return param.choices;
  if (param.type == ParamType::path) return {"", "/", "/dev/null", "/nowhere/at all/ü"};
  return {"", "a", "ü €", std::string(1000, 'x'), "\n\t\"'%s%n"};
}

template <class T>
std::vector<Value> as_values(const std::vector<T>& list) {
  return {list.begin(), list.end()};
}

// Lists with none, one and all of the edges.
template <class T>
std::vector<Value> as_lists(const std::vector<T>& edges) {
  std::vector<Value> lists{std::vector<T>{}, edges};
  for (const T& edge : edges) lists.push_back(std::vector<T>{edge});
  return lists;
}

std::vector<Value> edges(const ParamSchema& param) {
  switch (param.type) {
    case ParamType::boolean: return {false, true};
    case ParamType::integer: return as_values(edge_integers(param));
    case ParamType::floating: return as_values(edge_numbers(param));
    case ParamType::string:
    case ParamType::path: return as_values(edge_texts(param));
    case ParamType::integers: return as_lists(edge_integers(param));
    case ParamType::floats: return as_lists(edge_numbers(param));
    case ParamType::strings: return as_lists(edge_texts(param));
  }
  return {};
}

// Creates an instance with the value in place of the plan's. Throws Failed if create fails without a reason.
void try_value(const Session& session, const ParamSchema& param, const Value& value) {
  config::ComponentPlan plan = session.plan();
  plan.params[param.name] = value;
  plan.place = param.name + " = " + config::to_toml(value).substr(0, 60);
  try {
    session.create(plan);
  } catch (const support::Error&) {
    session.require_reason("create with " + plan.place);
  }
}

void check_odd_params(Session& session) {
  if (session.component().schema.params.empty()) throw Skipped("it has no parameters");
  for (const ParamSchema& param : session.component().schema.params)
    for (const Value& value : edges(param)) try_value(session, param, value);
}

// The table of a known extension: its size, followed by functions, of which the host needs those within `bytes`.
struct ExtensionTable {
  const char* id;
  const char* type;
  uint64_t bytes;
  std::vector<ComponentKind> kinds;  // that may have it
};
#define TENON_TABLE(id, type, last, ...) \
  { id, #type, TENON_SIZE_TO(type, last), __VA_ARGS__ }

const std::vector<ExtensionTable>& extension_tables() {
  constexpr auto kModel = ComponentKind::model, kLoss = ComponentKind::loss, kMetric = ComponentKind::metric,
                 kDataset = ComponentKind::dataset, kCallback = ComponentKind::callback,
                 kTransform = ComponentKind::transform;
  static const std::vector<ComponentKind> kAll{kModel, kLoss, kMetric, kDataset, kCallback, kTransform};
  static const std::vector<ComponentKind> kWithState{kModel, kLoss, kMetric, kDataset, kCallback};
  static const std::vector<ComponentKind> kWithPorts{kModel, kLoss, kMetric};
  static const std::vector<ExtensionTable> tables{
      TENON_TABLE(TENON_SAVED_STATE, tenon_saved_state, load, kWithState),
      TENON_TABLE(TENON_PARAMETER_ROLES, tenon_parameter_roles, roles, kWithState),
      TENON_TABLE(TENON_CAPTURE, tenon_capture, is_capturable, {kModel, kLoss}),
      TENON_TABLE(TENON_MEMORY_FORMAT, tenon_memory_format, needs_contiguous, {kModel}),
      TENON_TABLE(TENON_INDEX_INPUTS, tenon_index_inputs, inputs, kWithPorts),
      TENON_TABLE(TENON_DECODING, tenon_decoding, forward, {kModel}),
      TENON_TABLE(TENON_FROZEN_PARAMETERS, tenon_frozen_parameters, names, {kModel}),
      TENON_TABLE(TENON_TIED_WEIGHTS, tenon_tied_weights, names, {kModel}),
      TENON_TABLE(TENON_USUAL_SOURCES, tenon_usual_sources, sources, kWithPorts),
      TENON_TABLE(TENON_CLASS_NAMES, tenon_class_lists, classes, {kDataset}),
      TENON_TABLE(TENON_PREPARE, tenon_prepare, prepare, {kDataset}),
      TENON_TABLE(TENON_PREPROCESSING, tenon_preprocessing_lists, lists, {kDataset}),
      TENON_TABLE(TENON_SAMPLE_NAMES, tenon_sample_names, name, {kDataset}),
      TENON_TABLE(TENON_SAMPLE_LENGTHS, tenon_sample_lengths, lengths, {kDataset}),
      TENON_TABLE(TENON_SAMPLE_WEIGHTS, tenon_sample_weights, weights, {kDataset}),
      TENON_TABLE(TENON_TOKENIZER, tenon_tokenizer, decode, {kDataset}),
      TENON_TABLE(TENON_VALIDATION, tenon_validation, exceptions, kAll)};
  return tables;
}
#undef TENON_TABLE

void check_extension_table(const components::Component& component, const ExtensionTable& expected) {
  const void* const table = components::find_extension_table(component, expected.id);
  if (!table) return;
  const auto* const fields = static_cast<const uint64_t*>(table);
  if (fields[0] < expected.bytes || fields[0] > 1 << 16)
    throw Failed("the table of {} declares a size of {} bytes; expected sizeof({})", expected.id, fields[0],
                 expected.type);
  if (std::find(fields + 1, fields + expected.bytes / sizeof *fields, 0) != fields + expected.bytes / sizeof *fields)
    throw Failed("the table of {} lacks a function (null); expected all of {}", expected.id, expected.type);
}

void check_extensions(Session& session) {
  const components::Component& component = session.component();
  if (!component.get_extension) throw Skipped("it has no get_extension");
  if (components::find_extension_table(component, "unknown.extension/1"))
    throw Failed("get_extension returns a table for an unknown id; expected null");
  for (const ExtensionTable& table : extension_tables())
    if (std::ranges::count(table.kinds, component.schema.kind) > 0) check_extension_table(component, table);
  components::list_metric_parameters(component);
  components::list_size_parameters(component);
  components::find_unlabelled_parameter(component);
  check_exceptions(component);
}

}  // namespace

std::vector<Check> create_checks() {
  return {{"create", Level::create, {}, check_create},
          {"create-again", Level::create, {"create"}, check_create_again},
          {"odd-params", Level::create, {"create"}, check_odd_params},
          {"extensions", Level::create, {"create"}, check_extensions}};
}

}  // namespace tenon::validation
