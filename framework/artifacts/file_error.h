// A failed system call in words for the user.
#pragma once

#include <filesystem>
#include <string_view>

#include "framework/support/error.h"

namespace tenon::artifacts {

// `runs/a/history.jsonl: cannot be written: No space left on device; free some space, or choose another
// run.output_dir`. `error` is an errno; `what` says what was tried, as the rest of a sentence about the path.
support::Error make_file_error(support::ErrorKind kind, const std::filesystem::path& path, std::string_view what,
                               int error);

}  // namespace tenon::artifacts
