// Ports in C++: tenon::input("image", "N,C,H,W", TENON_ANY_FLOAT, "brightness in [0, 1]").
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "detail/table.hpp"
#include "dtype.hpp"
#include "port.h"

namespace tenon {

struct Port {
  uint32_t direction;  // TENON_INPUT or TENON_OUTPUT
  std::string name;
  std::string shape;  // such as `N,3,H,W`, see port.h
  Dtypes dtypes;
  std::string doc;

  tenon_port describe() const {
    tenon_port port = {};
    port.size = sizeof port;
    port.direction = direction;
    port.name = detail::borrow(name);
    port.shape = detail::borrow(shape);
    port.dtypes = dtypes;
    port.doc = detail::borrow(doc);
    return port;
  }
};

inline Port input(std::string name, std::string shape, Dtypes dtypes = TENON_ANY_DTYPE, std::string doc = {}) {
  return {TENON_INPUT, std::move(name), std::move(shape), dtypes, std::move(doc)};
}

inline Port output(std::string name, std::string shape, Dtypes dtypes = TENON_ANY_DTYPE, std::string doc = {}) {
  return {TENON_OUTPUT, std::move(name), std::move(shape), dtypes, std::move(doc)};
}

}  // namespace tenon
