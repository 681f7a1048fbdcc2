// Tests the roles that a component declares for its parameters, with a list that each test fills.
#include <doctest/doctest.h>

#include <vector>

#include <tenon/parameter_roles.h>

#include "framework/components/kinds/parameter_roles.h"
#include "tests/messages.h"

namespace parameter_roles_test {

using namespace tenon;
using components::SizeParameter;

namespace {

std::vector<tenon_parameter_role>& declared() {
  static std::vector<tenon_parameter_role> roles;
  return roles;
}

tenon_status list_declared(const tenon_parameter_role** roles, uint64_t* count) {
  *roles = declared().data();
  *count = declared().size();
  return TENON_OK;
}

constexpr tenon_parameter_roles kTable = {sizeof(tenon_parameter_roles), &list_declared};

const void* find_extension(tenon_string id) {
  return components::to_string(id) == TENON_PARAMETER_ROLES ? &kTable : nullptr;
}

// A model with an integer, a required integer and a string.
const components::Component& component() {
  static const components::PluginInfo plugin{};
  static const components::Component made = [] {
    components::Component one{};
    one.plugin = &plugin;
    one.get_extension = &find_extension;
    one.schema.params = {config::parse_param_schema("classes", config::ParamType::integer, "10", "[1, inf)", {}, ""),
                         config::parse_param_schema("channels", config::ParamType::integer, "", "[1, inf)", {}, ""),
                         config::parse_param_schema("stem", config::ParamType::string, "\"cifar\"", "", {}, "")};
    return one;
  }();
  return made;
}

std::string refusal() {
  return tenon::find_error(support::ErrorKind::plugin, [&] { components::list_size_parameters(component()); });
}

}  // namespace

TEST_CASE("sizes are listed with their roles, and unknown roles are ignored") {
  declared() = {{TENON_STRING("classes"), TENON_ROLE_CLASSES, 0}, {TENON_STRING("later"), 900, 0}};
  const std::vector<SizeParameter> sizes = components::list_size_parameters(component());
  REQUIRE(sizes.size() == 1);
  CHECK(sizes[0].role == TENON_ROLE_CLASSES);
  CHECK(sizes[0].schema->name == "classes");
  declared() = {};
  CHECK(components::list_size_parameters(component()).empty());
}

TEST_CASE("the role of a size needs an integer with a default") {
  declared() = {{TENON_STRING("stem"), TENON_ROLE_CLASSES, 0}};
  CHECK(refusal().find("\"stem\" has the role of a size of the data; expected an integer with a default") !=
        std::string::npos);
  declared() = {{TENON_STRING("channels"), TENON_ROLE_CHANNELS, 0}};
  CHECK(refusal().find("\"channels\" has the role of a size") != std::string::npos);
  declared() = {{TENON_STRING("width"), TENON_ROLE_CHANNELS, 0}};
  CHECK(refusal().find("\"width\" is not in the schema") != std::string::npos);
}

}  // namespace parameter_roles_test
