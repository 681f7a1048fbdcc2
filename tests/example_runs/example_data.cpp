#include "tests/example_runs/example_data.h"

#include <doctest/doctest.h>

#include <map>

#include "tests/end_to_end/hosted_run.h"

namespace tenon::end_to_end {

std::filesystem::path make_example_data(const std::string& kind) {
  static std::map<std::string, std::filesystem::path> made;
  std::filesystem::path& folder = made[kind];
  if (folder.empty()) {
    folder = make_empty_folder("data_of_" + kind) / kind;
    require_success(run_program("example_data", {kind, folder.string()}));
  }
  return folder;
}

}  // namespace tenon::end_to_end
