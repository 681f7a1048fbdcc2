// The boundary of the plugin: the host's table, and the guard around each function that the host calls.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "../error.hpp"
#include "../host.h"

#if !defined(__cpp_exceptions)
#error "Tenon's C++ API reports errors with exceptions: build without -fno-exceptions, or write the plugin in C"
#endif

// For everything that holds state or an address per plugin. Without it, two plugins in one process that both have, for
// example, a class `Model` would share one table: template statics are unique per process, even under RTLD_LOCAL.
#if defined(__GNUC__)
#define TENON_HIDDEN __attribute__((visibility("hidden")))
#else
#define TENON_HIDDEN
#endif

namespace tenon::detail {

// Set when the plugin is opened. Never null in a function of a table.
TENON_HIDDEN inline const tenon_host* host = nullptr;

inline tenon_string borrow(std::string_view text) { return tenon_make_string(text.data(), text.size()); }

inline std::string copy(tenon_string text) {
  return text.size == 0 ? std::string() : std::string(text.data, static_cast<size_t>(text.size));
}

// Throws HostError unless the status is TENON_OK.
inline void check(tenon_status status) {
  if (status != TENON_OK) throw HostError(status);
}

// Throws Error unless the counts are equal. The message is the texts, each before its count.
inline void require_count(std::string_view text, uint64_t found, const char* expected_text, uint64_t expected) {
  if (found == expected) return;
  throw Error(TENON_INVALID_ARGUMENT,
              std::string(text) + std::to_string(found) + expected_text + std::to_string(expected));
}

TENON_HIDDEN inline tenon_status fail(tenon_status status, const char* message) noexcept {
  return host->fail(status, tenon_make_string(message, std::strlen(message)));
}

// Calls `body`. An exception becomes a status after its message was passed to the host.
template <class Body>
TENON_HIDDEN tenon_status guard(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return TENON_OK;
  } catch (const HostError& error) {
    return error.status();
  } catch (const Error& error) {
    return fail(error.status(), error.what());
  } catch (const std::exception& error) {
    return fail(TENON_FAILED, error.what());
  } catch (...) {
    return fail(TENON_FAILED, "the exception is not a std::exception");
  }
}

}  // namespace tenon::detail
