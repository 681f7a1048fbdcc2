// A variant of `host compare`: a run file with overrides.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenon::reporting {

struct Variant {
  std::string name;  // unique among the variants: "precision=bf16", "resnet, lr=0.1"
  std::filesystem::path config;
  std::vector<std::string> overrides;  // "key=value"; they take precedence over those of the command line
};

}  // namespace tenon::reporting
