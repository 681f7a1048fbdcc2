// Standard input, output and error of the process.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace tenon::host {

// Opens /dev/null on each of the descriptors 0 to 2 that is closed, and returns whether one was closed. Otherwise the
// next file that the host opens would get the descriptor, and the terminal output would be written into that file. Call
// it first in main().
bool open_standard_streams();

// Does the same after plugins were called, and logs a warning if one of them closed a standard stream.
void restore_standard_streams();

// Write to standard output. Text from plugins, files and paths is safe here: see support::escape_control_characters().
// `format` is that of printf(). JSON ends with a line feed; `indent` is that of nlohmann::json::dump().
void write_output_text(std::string_view text);
[[gnu::format(printf, 1, 2)]] void write_output(const char* format, ...);
void write_output_json(const nlohmann::ordered_json& json, int indent = 2);

// Writes what is buffered for standard output. Throws Error(system) if any output of the process could not be written,
// such as to a full disk.
void flush_standard_output();

}  // namespace tenon::host
