// The host's extensions by their ids. Not for plugins to include.
#pragma once

#include <string>

#include "../error.hpp"
#include "../host.h"
#include "guard.hpp"

namespace tenon::detail {

// A table of the host's; null where the host does not have it.
template <class Table>
const Table* find_extension(const char* id) {
  const auto* table = static_cast<const Table*>(host->get_extension(borrow(id)));
  return table && table->size >= sizeof(Table) ? table : nullptr;
}

// Throws Error(TENON_UNSUPPORTED) where the host does not have it.
template <class Table>
const Table& require_extension(const char* id) {
  const Table* const table = find_extension<Table>(id);
  if (!table) throw Error(TENON_UNSUPPORTED, std::string("this host offers no ") + id + "; expected a newer one");
  return *table;
}

}  // namespace tenon::detail
