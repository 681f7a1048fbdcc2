// The kinds of example data, by name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace example_data {

struct Kind {
  std::string name;
  std::string doc;
  void (*write)(const std::filesystem::path& folder);  // into an empty folder
};

const std::vector<Kind>& all_kinds();

}  // namespace example_data
