// Python as a reference: a program that reads inputs from a pipe and answers in JSON. Used by differential fuzz
// targets.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/fuzz/fuzz_target.h"

namespace tenon::fuzz {

// Returns what tests/fuzz/reference.py answers for this format and input: {"error": "..."}, or the content. Starts it
// at the first call, with the Python interpreter TENON_PYTHON or python3. Returns nothing if the interpreter lacks the
// package that reads the format; libFuzzer then ends, because it would compare nothing.
std::optional<nlohmann::json> read_with_reference(const std::string& format, Input input);

}  // namespace tenon::fuzz
