#include "framework/validation/checks/create_checks.h"

#include <cmath>
#include <limits>

#include <tenon/capture.h>
#include <tenon/class_names.h>
#include <tenon/decoding.h>
#include <tenon/frozen_parameters.h>
#include <tenon/index_inputs.h>
#include <tenon/parameter_roles.h>
#include <tenon/preprocessing.h>
#include <tenon/sample_names.h>
#include <tenon/sample_order.h>
#include <tenon/saved_state.h>
#include <tenon/tied_weights.h>
#include <tenon/tokenizer.h>
#include <tenon/usual_sources.h>

#include "framework/components/kinds/parameter_roles.h"
#include "framework/support/diagnostics/error.h"
#include "framework/validation/session/session.h"

namespace tenon::validation {

namespace {

using config::ComponentKind;
using config::ParamSchema;
using config::ParamType;
using config::Value;

using Instance = Subject<AnyTable>;

void check_create(Session& session) {
  Instance one(session);
  one.destroy();
}

// Creates two instances at once, destroys them in the order of creation, and creates a third.
void check_create_again(Session& session) {
  {
    Instance first(session);
    Instance second(session);
    first.destroy();
    second.destroy();
  }
  Instance third(session);
  third.destroy();
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
void try_value(Session& session, const ParamSchema& param, const Value& value) {
  config::Values values = session.plan.params;
  values[param.name] = value;
  const tenon_params params(values);
  const auto& table = *static_cast<const AnyTable*>(session.component.table);
  const std::string what = param.name + " = " + config::to_toml(value).substr(0, 60);
  void* self = nullptr;
  tenon_status status = TENON_OK;
  std::string reason;
  session.call(
      "create",
      [&] {
        status = table.create(&recording_host(), &params, &self);
        reason = components::detail::failure;
        return TENON_OK;
      },
      what);
  if (status != TENON_OK) {
    if (reason.empty())
      throw Failed("create with " + what + " returns status " + std::to_string(status) +
                   " and no reason; expected a call of host->fail with a text first");
    return;
  }
  session.call(
      "destroy",
      [&] {
        table.destroy(self);
        return TENON_OK;
      },
      what);
}

void check_odd_params(Session& session) {
  if (session.component.schema.params.empty()) throw Skipped("it has no parameters");
  for (const ParamSchema& param : session.component.schema.params)
    for (const Value& value : edges(param)) try_value(session, param, value);
}

// Checks the size and the functions of a known extension's table, if the component has that extension.
template <class Table, class... Functions>
void check_table(Instance& instance, const char* id, const char* type, uint64_t smallest,
                 Functions Table::*... functions) {
  const auto* table = instance.extension<Table>(id);
  if (!table) return;
  if (table->size < smallest || table->size > 1 << 16)
    throw Failed("the table of " + std::string(id) + " declares a size of " + std::to_string(table->size) +
                 " bytes; expected sizeof(" + type + ")");
  if (!((table->*functions) && ...))
    throw Failed("the table of " + std::string(id) + " lacks a function (null); expected all of " + type);
}

void check_roles(const components::Component& component) {
  try {
    components::list_metric_parameters(component);
    components::list_size_parameters(component);
    components::find_unlabelled_parameter(component);
  } catch (const support::Error& error) {
    throw Failed(error.what());
  }
}

void check_extensions(Session& session) {
  if (!session.component.get_extension) throw Skipped("it has no get_extension");
  Instance one(session);
  struct Sized {
    uint64_t size;
  };
  if (one.extension<Sized>("unknown.extension/1"))
    throw Failed("get_extension returns a table for an unknown id; expected null");
  check_table(one, TENON_SAVED_STATE, "tenon_saved_state", TENON_SIZE_TO(tenon_saved_state, load),
              &tenon_saved_state::save, &tenon_saved_state::load);
  check_table(one, TENON_PARAMETER_ROLES, "tenon_parameter_roles", TENON_SIZE_TO(tenon_parameter_roles, roles),
              &tenon_parameter_roles::roles);
  check_roles(session.component);
  const ComponentKind kind = session.component.schema.kind;
  if (kind == ComponentKind::model || kind == ComponentKind::loss)
    check_table(one, TENON_CAPTURE, "tenon_capture", TENON_SIZE_TO(tenon_capture, is_capturable),
                &tenon_capture::is_capturable);
  if (kind == ComponentKind::model || kind == ComponentKind::loss || kind == ComponentKind::metric)
    check_table(one, TENON_INDEX_INPUTS, "tenon_index_inputs", TENON_SIZE_TO(tenon_index_inputs, inputs),
                &tenon_index_inputs::inputs);
  if (kind == ComponentKind::model)
    check_table(one, TENON_DECODING, "tenon_decoding", TENON_SIZE_TO(tenon_decoding, forward),
                &tenon_decoding::describe, &tenon_decoding::forward);
  if (kind == ComponentKind::model)
    check_table(one, TENON_FROZEN_PARAMETERS, "tenon_frozen_parameters", TENON_SIZE_TO(tenon_frozen_parameters, names),
                &tenon_frozen_parameters::names);
  if (kind == ComponentKind::model)
    check_table(one, TENON_TIED_WEIGHTS, "tenon_tied_weights", TENON_SIZE_TO(tenon_tied_weights, names),
                &tenon_tied_weights::names);
  if (kind == ComponentKind::model || kind == ComponentKind::loss || kind == ComponentKind::metric)
    check_table(one, TENON_USUAL_SOURCES, "tenon_usual_sources", TENON_SIZE_TO(tenon_usual_sources, sources),
                &tenon_usual_sources::sources);
  if (kind == ComponentKind::dataset) {
    check_table(one, TENON_CLASS_NAMES, "tenon_class_lists", TENON_SIZE_TO(tenon_class_lists, classes),
                &tenon_class_lists::classes);
    check_table(one, TENON_PREPARE, "tenon_prepare", TENON_SIZE_TO(tenon_prepare, prepare), &tenon_prepare::prepare);
    check_table(one, TENON_PREPROCESSING, "tenon_preprocessing_lists", TENON_SIZE_TO(tenon_preprocessing_lists, lists),
                &tenon_preprocessing_lists::lists);
    check_table(one, TENON_SAMPLE_NAMES, "tenon_sample_names", TENON_SIZE_TO(tenon_sample_names, name),
                &tenon_sample_names::name);
    check_table(one, TENON_SAMPLE_LENGTHS, "tenon_sample_lengths", TENON_SIZE_TO(tenon_sample_lengths, lengths),
                &tenon_sample_lengths::lengths);
    check_table(one, TENON_SAMPLE_WEIGHTS, "tenon_sample_weights", TENON_SIZE_TO(tenon_sample_weights, weights),
                &tenon_sample_weights::weights);
    check_table(one, TENON_TOKENIZER, "tenon_tokenizer", TENON_SIZE_TO(tenon_tokenizer, decode),
                &tenon_tokenizer::describe, &tenon_tokenizer::encode, &tenon_tokenizer::decode);
  }
}

Check make_create_check(const char* name, std::vector<std::string> needs, void (*run)(Session&)) {
  return {name, Level::create, Check::Of::every_component, {}, std::move(needs), run};
}

}  // namespace

std::vector<Check> create_checks() {
  return {make_create_check("create", {}, check_create),
          make_create_check("create-again", {"create"}, check_create_again),
          make_create_check("odd-params", {"create"}, check_odd_params),
          make_create_check("extensions", {"create"}, check_extensions)};
}

}  // namespace tenon::validation
