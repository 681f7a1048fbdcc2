// Error messages for failed system calls.
#pragma once

#include <filesystem>
#include <string_view>

#include "framework/support/diagnostics/error.h"

namespace tenon::artifacts {

// Example: `runs/a/history.jsonl: cannot be written: No space left on device; free some space, or choose another
// run.output_dir`. `error` is an errno. `what` continues a sentence that starts with the path. The kind is `system` if
// the machine failed, such as for a full disk, and `kind` otherwise.
support::Error make_file_error(support::ErrorKind kind, const std::filesystem::path& path, std::string_view what,
                               int error);

}  // namespace tenon::artifacts
