// The functions of the fmt in LibTorch's headers that fmt::format calls: LibTorch's libraries do not export them.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace {

// Makes the compiler emit this inline function, which calls the others.
[[gnu::used]] const auto kFunction = static_cast<std::string (*)(fmt::string_view, fmt::format_args)>(&fmt::vformat);

}  // namespace
