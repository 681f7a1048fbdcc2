// The option --color, which every command accepts.
#pragma once

#include <string>
#include <vector>

namespace tenon::host {

// Applies --color WHEN and removes it from the words of a command line. Throws Error(configuration) if WHEN is none of
// auto, always and never.
void take_colour_option(std::vector<std::string>& words);

}  // namespace tenon::host
