// Looks up extensions of the host by id. Plugins do not include this file.
#pragma once

#include <string>

#include "../error.hpp"
#include "../host.h"
#include "guard.hpp"

namespace tenon::detail {

// Returns an extension of the host, or null if the host does not have it.
template <class Table>
const Table* find_extension(const char* id) {
  const auto* table = static_cast<const Table*>(host->get_extension(borrow(id)));
  return table && table->size >= sizeof(Table) ? table : nullptr;
}

// Returns an extension of the host. Throws Error(TENON_UNSUPPORTED) if the host does not have it.
template <class Table>
const Table& require_extension(const char* id) {
  const Table* const table = find_extension<Table>(id);
  if (!table) throw Error(TENON_UNSUPPORTED, std::string("this host does not support ") + id + "; use a newer host");
  return *table;
}

}  // namespace tenon::detail
