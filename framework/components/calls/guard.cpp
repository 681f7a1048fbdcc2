#include "framework/components/calls/guard.h"

#include <utility>

#include "framework/support/text/format.h"

namespace tenon::components {

using support::Error;
using support::ErrorKind;

namespace detail {

constinit thread_local CallRecord current;
constinit thread_local CallObserver* call_observer = nullptr;
thread_local std::string failure;

namespace {

std::string place(const Component& component, const char* function, std::string_view what) {
  return fmt::format("{}, {}{}: ", component.describe(), function, what.empty() ? "" : fmt::format(" ({})", what));
}

}  // namespace

void throw_failed(const Component& component, const char* function, tenon_status status, std::string_view what) {
  std::string text = std::move(failure);
  failure.clear();
  if (text.empty()) text = "failed with status " + std::to_string(status) + " and no message";
  throw Error(status == TENON_BAD_DATA ? ErrorKind::data : ErrorKind::plugin, place(component, function, what) + text);
}

void throw_escaped(const Component& component, const char* function, std::exception_ptr escaped,
                   std::string_view what) {
  std::string text = "an exception of unknown type";
  try {
    std::rethrow_exception(std::move(escaped));
  } catch (const std::exception& exception) {
    text = std::string("an exception: ") + exception.what();
  } catch (...) {
  }
  throw EscapedException(fmt::format("{}threw {}; a plugin must catch it and return a status (the C++ wrapper does)",
                                     place(component, function, what), text));
}

}  // namespace detail

void throw_plugin_error(const Component& component, const std::string& function, const std::string& what) {
  throw Error(ErrorKind::plugin, "{}, {}: {}", component.describe(), function, what);
}

void require_list(const Component& component, const char* function, const void* list, uint64_t count, const char* what,
                  const std::string& expected) {
  if (count > 0 && !list)
    throw_plugin_error(component, function, "returns a count of {} {}, but the list is NULL; expected {}", count, what,
                       expected);
}

ResultScope::ResultScope(const Component& component, const char* what) : before_(detail::current.get()) {
  detail::current.set({&component, what, {}, nullptr});
}

ResultScope::ResultScope(const char* file) : before_(detail::current.get()) {
  detail::current.set({nullptr, nullptr, {}, file});
}

ResultScope::~ResultScope() { detail::current.set(before_); }

Breadcrumb breadcrumb() noexcept { return detail::current.get(); }

}  // namespace tenon::components
