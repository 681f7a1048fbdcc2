// Data as scripts/example-data makes it.
#pragma once

#include <filesystem>
#include <string>

namespace tenon::end_to_end {

// A folder with data of this kind, made once for all tests of the program. Fails the test if it cannot be made.
std::filesystem::path make_example_data(const std::string& kind);

}  // namespace tenon::end_to_end
