// Creates data with scripts/example-data.
#pragma once

#include <filesystem>
#include <string>

namespace tenon::end_to_end {

// Returns a folder with data of this kind. It is created once for all tests of the program. Fails the test on an error.
std::filesystem::path make_example_data(const std::string& kind);

}  // namespace tenon::end_to_end
