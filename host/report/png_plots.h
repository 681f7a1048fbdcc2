// The only door to rsvg-convert of librsvg, which draws the curves of plots/ as PNG too.
#pragma once

#include <filesystem>
#include <string>

namespace tenon::host {

// Throws Error(configuration), naming `asked_by` ("log.png_plots"), if the program is not found by PATH.
void require_png_converter(const std::string& asked_by);

// Beside each .svg of the folder, at twice its size. Throws Error(internal) with the file.
void write_png_plots(const std::filesystem::path& folder);

}  // namespace tenon::host
