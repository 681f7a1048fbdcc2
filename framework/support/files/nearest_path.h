// "Did you mean ...?" for paths: suggests the existing path closest to a mistyped one.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace tenon::support {

// Returns `; did you mean configs/digits.toml?` if nothing exists at the path and an existing path is near: each name
// in it is the same or the nearest one. `is_fitting` selects what the path may lead to, such as only files. Otherwise
// returns "".
std::string suggest_path(const std::filesystem::path& path,
                         const std::function<bool(const std::filesystem::path&)>& is_fitting);

}  // namespace tenon::support
