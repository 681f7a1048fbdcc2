#include "framework/components/calls/run_files.h"

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "framework/components/calls/component.h"
#include "framework/components/calls/host_table.h"
#include "framework/support/files/files.h"

namespace tenon::components {

namespace {

namespace fs = std::filesystem;

constexpr int kDeepestFolder = 8;  // ends a list that follows a link to a folder above it

void add_files(const fs::path& folder, const fs::path& below, int depth, std::vector<std::string>& found) {
  for (const fs::path& path : support::list_folder(folder, support::ErrorKind::system)) {
    if (path.filename().string().starts_with('.')) continue;
    if (support::is_file(path))
      found.push_back((below / path.filename()).string());
    else if (support::is_folder(path) && depth < kDeepestFolder)
      add_files(path, below / path.filename(), depth + 1, found);
  }
}

}  // namespace

tenon_status list_run_files(tenon_string folder, void* context, void (*add)(void* context, tenon_string path)) {
  if (!add) return fail(TENON_INVALID_ARGUMENT, "run-values: a null function");
  std::vector<std::string> found;
  try {
    add_files(to_string(folder), "", 1, found);
  } catch (const std::exception& error) {
    return fail(TENON_NOT_FOUND, error.what());
  }
  for (const std::string& path : found) add(context, to_tenon(path));
  return TENON_OK;
}

}  // namespace tenon::components
