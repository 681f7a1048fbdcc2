// Tests the struct sizes that a host of version 1.x must accept from plugins of every other version 1.x.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include <tenon/tenon.h>

#include "framework/components/loading/check_plugin.h"
#include "framework/support/diagnostics/error.h"

using tenon::components::check_component;
using tenon::components::check_plugin;
using tenon::components::negotiate_abi;
using tenon::components::PluginInfo;

namespace {

// A struct as the other side declares it: only its first `bytes` bytes exist in memory. Bytes that are unknown to the
// headers here are filled with a value that is neither null nor a valid pointer.
template <class Struct>
class Foreign {
 public:
  Foreign(Struct known, uint64_t bytes) : memory_(new uint64_t[bytes / sizeof(uint64_t)]) {
    std::memset(memory_.get(), 0x5A, bytes);
    known.size = bytes;
    std::memcpy(memory_.get(), &known, std::min<uint64_t>(bytes, sizeof known));
  }
  const Struct* get() const { return reinterpret_cast<const Struct*>(memory_.get()); }

 private:
  std::unique_ptr<uint64_t[]> memory_;
};

tenon_status unused() { return TENON_FAILED; }
const void* no_extension(tenon_string) { return nullptr; }

// Sets every function of the table. The functions are checked but not called.
template <class Table>
Table make_table() {
  Table table;
  const auto function = &unused;
  for (size_t at = 0; at < sizeof table; at += sizeof function)
    std::memcpy(reinterpret_cast<char*>(&table) + at, &function, sizeof function);
  return table;
}

// The size of each struct in version 1.0, and up to its last required field.
struct Sizes {
  uint64_t plugin;
  uint64_t component;
  uint64_t param;
  uint64_t model;
  uint64_t dataset;
  uint64_t loss;
  uint64_t metric;
  uint64_t callback;
};
constexpr Sizes kVersion1 = {120, 80, 96, 48, 72, 48, 64, 40};
constexpr Sizes kRequired = {104, 72, 96, 48, 64, 40, 64, 40};

constexpr uint64_t Sizes::*kEach[] = {&Sizes::plugin,  &Sizes::component, &Sizes::param,  &Sizes::model,
                                      &Sizes::dataset, &Sizes::loss,      &Sizes::metric, &Sizes::callback};

template <class Table>
void check_kind(const PluginInfo& plugin, uint32_t kind, uint64_t table_bytes, const Sizes& sizes) {
  tenon_param about_param = {};
  about_param.name = TENON_STRING("width");
  about_param.type = TENON_PARAM_INT;
  about_param.default_value = TENON_STRING("3");
  about_param.doc = TENON_STRING("how wide");
  const Foreign<tenon_param> param(about_param, sizes.param);
  const tenon_param* const params[] = {param.get()};
  const Foreign<Table> table(make_table<Table>(), table_bytes);

  tenon_component about_component = {};
  about_component.kind = kind;
  about_component.id = TENON_STRING("sized");
  about_component.doc = TENON_STRING("one of several sizes");
  about_component.params = params;
  about_component.param_count = 1;
  about_component.table = table.get();
  about_component.get_extension = &no_extension;
  const Foreign<tenon_component> component(about_component, sizes.component);
  const auto checked = check_component(plugin, component.get());
  CHECK(checked.schema.id == "sized");
  CHECK(checked.schema.params.size() == 1);
  CHECK(checked.table == table.get());
  CHECK((checked.get_extension == &no_extension) == (sizes.component >= kVersion1.component));
}

// Loads a plugin with a component of each kind. Throws for the first struct that is rejected.
void take(const Sizes& sizes) {
  const tenon_component* const components[] = {nullptr};
  tenon_plugin about = {};
  about.id = TENON_STRING("sizes");
  about.version = TENON_STRING("1.0.0");
  about.license = TENON_STRING("MIT");
  about.doc = TENON_STRING("sizes");
  about.components = components;
  about.component_count = 1;
  const tenon_string operators[] = {TENON_STRING("aten::linear")};
  about.operators = operators;
  about.operator_count = 1;
  const Foreign<tenon_plugin> plugin(about, sizes.plugin);
  const PluginInfo info = check_plugin("sizes.so", plugin.get(), "");
  CHECK(info.id == "sizes");
  CHECK(info.operators.size() == (sizes.plugin >= kVersion1.plugin ? 1 : 0));
  check_kind<tenon_model>(info, TENON_MODEL, sizes.model, sizes);
  check_kind<tenon_dataset>(info, TENON_DATASET, sizes.dataset, sizes);
  check_kind<tenon_loss>(info, TENON_LOSS, sizes.loss, sizes);
  check_kind<tenon_metric>(info, TENON_METRIC, sizes.metric, sizes);
  check_kind<tenon_callback>(info, TENON_CALLBACK, sizes.callback, sizes);
}

uint32_t negotiate(uint32_t oldest, uint32_t newest) { return negotiate_abi("sizes.so", {oldest, newest, nullptr}); }

}  // namespace

TEST_CASE("the structs of a version 1.0 plugin are large enough") { CHECK_NOTHROW(take(kVersion1)); }

TEST_CASE("structs of a later version, with fields unknown to this host, are accepted") {
  for (const uint64_t bytes : {8, 16, 1024}) {
    Sizes longer = kVersion1;
    for (const auto size : kEach) longer.*size += bytes;
    CHECK_NOTHROW(take(longer));
  }
}

TEST_CASE("a struct may end before its first optional field") { CHECK_NOTHROW(take(kRequired)); }

TEST_CASE("a struct that ends before a required field is rejected") {
  for (size_t i = 0; i < std::size(kEach); ++i) {
    CAPTURE(i);
    Sizes cut = kVersion1;
    cut.*kEach[i] = kRequired.*kEach[i] - 8;
    CHECK_THROWS_AS(take(cut), tenon::support::Error);
  }
}

TEST_CASE("the smaller maximum of two version ranges is chosen, and none if they do not overlap") {
  constexpr uint32_t current = TENON_ABI_CURRENT;
  constexpr uint32_t next = current + 1;
  CHECK(negotiate(TENON_MAKE_ABI(1, 0), TENON_MAKE_ABI(1, 0)) == 0x10000);
  CHECK(negotiate(TENON_MAKE_ABI(1, 0), next) == current);
  CHECK(negotiate(current, current) == current);
  CHECK_THROWS_AS(negotiate(next, next), tenon::support::Error);
  CHECK_THROWS_AS(negotiate(TENON_MAKE_ABI(0, 1), TENON_MAKE_ABI(0, 9)), tenon::support::Error);
  CHECK_THROWS_AS(negotiate(TENON_MAKE_ABI(2, 0), TENON_MAKE_ABI(2, 3)), tenon::support::Error);
}
