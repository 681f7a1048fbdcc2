// The roles of parameters, in C++: those that the schema declares, such as Param::names_metric().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "detail/guard.hpp"
#include "parameter_roles.h"
#include "params.hpp"

namespace tenon::detail {

// The roles of a schema. The structs borrow from the schema, which does not change.
class Roles {
 public:
  explicit Roles(std::vector<Param> schema) : schema_(std::move(schema)) {
    for (const Param& param : schema_)
      if (param.role() != 0) roles_.push_back({borrow(param.name()), param.role(), 0});
  }
  Roles(const Roles&) = delete;
  Roles& operator=(const Roles&) = delete;

  void hand_out(const tenon_parameter_role** roles, uint64_t* count) const {
    *roles = roles_.data();
    *count = roles_.size();
  }

 private:
  const std::vector<Param> schema_;
  std::vector<tenon_parameter_role> roles_;
};

// The extension of a component.
template <class T>
struct TENON_HIDDEN ParameterRolesExtension {
  static constexpr bool is_provided = has_schema<T>;
  static constexpr std::string_view id = TENON_PARAMETER_ROLES;

  static tenon_status roles(const tenon_parameter_role** roles, uint64_t* count) {
    return guard([&] {
      static const Roles of_schema(T::schema());
      of_schema.hand_out(roles, count);
    });
  }

  static constexpr tenon_parameter_roles table = {sizeof(tenon_parameter_roles), &roles};
};

}  // namespace tenon::detail
