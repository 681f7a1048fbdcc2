// The roles of parameters, in C++: those that the schema declares, such as Param::names_metric().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "detail/guard.hpp"
#include "parameter_roles.h"
#include "params.hpp"

namespace tenon::detail {

// The roles of a schema, which they borrow from.
inline std::vector<tenon_parameter_role> roles_in(const std::vector<Param>& schema) {
  std::vector<tenon_parameter_role> roles;
  for (const Param& param : schema)
    if (param.role() != 0) roles.push_back({borrow(param.name()), param.role(), 0});
  return roles;
}

// The extension of a component.
template <class T>
struct TENON_HIDDEN ParameterRolesExtension {
  static constexpr bool is_provided = has_schema<T>;
  static constexpr std::string_view id = TENON_PARAMETER_ROLES;

  static tenon_status roles(const tenon_parameter_role** roles, uint64_t* count) {
    return guard([&] {
      static const std::vector<Param> schema = T::schema();
      static const std::vector<tenon_parameter_role> found = roles_in(schema);
      *roles = found.data();
      *count = found.size();
    });
  }

  static constexpr tenon_parameter_roles table = {sizeof(tenon_parameter_roles), &roles};
};

}  // namespace tenon::detail
