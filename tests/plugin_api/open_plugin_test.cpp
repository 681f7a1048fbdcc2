#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <tenon/plugin.hpp>

#include "tests/plugin_api/fake_host.h"

using namespace tenon::test;

namespace {

struct Everything {
  static std::vector<tenon::Param> schema() {
    return {tenon::param("flag", true),
            tenon::param("count", 3).range("[1, inf)").doc("how many"),
            tenon::param("rate", 1.0),
            tenon::param("tiny", 1e-5),
            tenon::param("word", "say \"a\\b\"\n").choices({"one", "two"}),
            tenon::param("folder", tenon::Path{"data"}),
            tenon::param("sizes", std::vector<int64_t>{1, 2}),
            tenon::param("rates", std::vector<double>{0.5, 2}),
            tenon::param("words", std::vector<std::string>{"a", "b"}),
            tenon::required<int64_t>("must")};
  }
  explicit Everything(const tenon::Params&) {}
  std::vector<tenon::Field> fields() const { return {}; }
  int64_t size() const { return 0; }
  void get(const tenon::Sample&, const tenon::Sink&) const {}
};

struct Bare {
  std::vector<tenon::Field> fields() const { return {}; }
  int64_t size() const { return 0; }
  void get(const tenon::Sample&, const tenon::Sink&) const {}
};

}  // namespace

// The only entry point of this program. The other tests need it to set the host.
TENON_PLUGIN("several", "1.2.3", "MIT", "Two components.",
             tenon::dataset<Everything>("everything", "all kinds of parameters"),
             tenon::dataset<Bare>("bare", "no parameter"), tenon::operators({"aten::bincount", "aten::relu"}))

TEST_CASE("a plugin describes itself and each of its components") {
  FakeHost host;
  const tenon_plugin* plugin = host.open(tenon_plugin_open);
  CHECK(to_text(plugin->id) == "several");
  CHECK(to_text(plugin->version) == "1.2.3");
  CHECK(to_text(plugin->license) == "MIT");
  CHECK(to_text(plugin->doc) == "Two components.");
  CHECK(to_text(plugin->torch_build) == "");
  REQUIRE(plugin->component_count == 2);
  CHECK(to_text(plugin->components[0]->id) == "everything");
  CHECK(to_text(plugin->components[0]->doc) == "all kinds of parameters");
  CHECK(plugin->components[0]->kind == TENON_DATASET);
  CHECK(to_text(plugin->components[1]->id) == "bare");
  CHECK(plugin->components[1]->param_count == 0);
  CHECK((plugin->components[1]->get_extension == nullptr));
}

TEST_CASE("a plugin declares the operators that it lists and those that it calls through ops.h, each once") {
  FakeHost host;
  const tenon_plugin* plugin = host.open(tenon_plugin_open);
  std::vector<std::string> declared;
  for (uint64_t i = 0; i < plugin->operator_count; ++i) declared.push_back(to_text(plugin->operators[i]));
  const auto count = [&](const char* name) { return std::count(declared.begin(), declared.end(), name); };
  CHECK(count("aten::bincount") == 1);
  // The other sources of this program call them.
  CHECK(count("aten::relu") == 1);
  CHECK(count("aten::flatten.using_ints") == 1);
  // No source calls it.
  CHECK(count("aten::kl_div") == 0);
}

TEST_CASE("the defaults of a schema are converted to TOML of their type") {
  FakeHost host;
  const tenon_component& component = find_component(host.open(tenon_plugin_open), "everything");
  const std::vector<std::pair<uint32_t, std::string>> expected = {{TENON_PARAM_BOOL, "true"},
                                                                  {TENON_PARAM_INT, "3"},
                                                                  {TENON_PARAM_FLOAT, "1.0"},
                                                                  {TENON_PARAM_FLOAT, "1e-05"},
                                                                  {TENON_PARAM_STRING, R"("say \"a\\b\"\u000A")"},
                                                                  {TENON_PARAM_PATH, "\"data\""},
                                                                  {TENON_PARAM_INTS, "[1, 2]"},
                                                                  {TENON_PARAM_FLOATS, "[0.5, 2.0]"},
                                                                  {TENON_PARAM_STRINGS, R"(["a", "b"])"},
                                                                  {TENON_PARAM_INT, ""}};
  REQUIRE(component.param_count == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(component.params[i]->size == sizeof(tenon_param));
    CHECK(component.params[i]->type == expected[i].first);
    CHECK(to_text(component.params[i]->default_value) == expected[i].second);
  }
}

TEST_CASE("range, choices and doc of a parameter reach the host unchanged") {
  FakeHost host;
  const tenon_component& component = find_component(host.open(tenon_plugin_open), "everything");
  CHECK(to_text(component.params[1]->name) == "count");
  CHECK(to_text(component.params[1]->range) == "[1, inf)");
  CHECK(to_text(component.params[1]->doc) == "how many");
  CHECK(component.params[1]->choices == nullptr);
  REQUIRE(component.params[4]->choice_count == 2);
  CHECK(to_text(component.params[4]->choices[1]) == "two");
}

TEST_CASE("a plugin opened twice gives the same description") {
  FakeHost host;
  const tenon_plugin* first = host.open(tenon_plugin_open);
  CHECK(host.open(tenon_plugin_open) == first);
}

TEST_CASE("a plugin rejects a host of other versions, and reports its versions") {
  for (const uint32_t version : {TENON_MAKE_ABI(0, 0), TENON_MAKE_ABI(99, 0)}) {
    const tenon_offer offer = {version, version, nullptr, to_string("test")};
    tenon_reply reply = {};
    CHECK(tenon_plugin_open(&offer, &reply) == TENON_UNSUPPORTED);
    CHECK(reply.plugin == nullptr);
    CHECK(reply.abi_min == TENON_ABI_OLDEST);
    CHECK(reply.abi_max == TENON_ABI_CURRENT);
  }
}

TEST_CASE("a schema that throws makes the entry fail with its text") {
  FakeHost host;
  const tenon_offer offer = {TENON_ABI_OLDEST, TENON_ABI_CURRENT, host.table(), to_string("test")};
  tenon_reply reply = {};
  const auto describe = []() -> tenon::detail::Description* { throw std::runtime_error("no schema today"); };
  CHECK(tenon::detail::open_plugin(&offer, &reply, describe) == TENON_FAILED);
  CHECK(host.failure == "no schema today");
  CHECK(reply.plugin == nullptr);
}
