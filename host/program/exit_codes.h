// The exit codes of docs/reference/exit_codes.md that the program uses before the engine runs.
#pragma once

namespace tenon::program {

inline constexpr int kSystemFailed = 11;
inline constexpr int kNotFound = 127;  // LibTorch or the engine, as in shells

}  // namespace tenon::program
