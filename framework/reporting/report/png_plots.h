// Renders the curves in plots/ as PNG with rsvg-convert of librsvg. Only this file calls that program.
#pragma once

#include <filesystem>
#include <string>

namespace tenon::reporting {

// Throws Error(configuration) if the program is not in PATH. The message names `requested_by` ("log.png_plots").
void require_png_converter(const std::string& requested_by);

// Writes a PNG at twice the size next to each .svg of the folder. Throws Error(system) with the file.
void write_png_plots(const std::filesystem::path& folder);

}  // namespace tenon::reporting
