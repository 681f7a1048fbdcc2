// The plugins of tests/fixtures/plugins, as built.
#pragma once

#include <filesystem>
#include <string>

#include "framework/components/calls/host_table.h"
#include "framework/components/loading/catalogue.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::components {

inline std::filesystem::path fixture_directory(const std::string& name) {
  return std::filesystem::path(TENON_BINARY_DIR) / "tests/fixtures/plugins" / name;
}

constexpr const char* kTorchBuild = "2.11.0+test,cxx11abi=1";

inline Catalogue open_directories(const std::vector<std::filesystem::path>& directories) {
  return Catalogue::open(directories, host_table(), kTorchBuild);
}

inline Catalogue open_fixture(const std::string& name) { return open_directories({fixture_directory(name)}); }

// The text of the Error that the body throws; "" if it throws none.
template <class Body>
std::string message_of(Body&& body, support::ErrorKind kind) {
  try {
    body();
  } catch (const support::Error& error) {
    return error.kind() == kind ? error.what() : std::string("another kind of error: ") + error.what();
  }
  return "";
}

}  // namespace tenon::components
