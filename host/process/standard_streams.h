// Standard input, output and error of the process.
#pragma once

namespace tenon::host {

// Opens /dev/null on each of the descriptors 0 to 2 that is closed, and returns whether one was closed. Otherwise the
// next file that the host opens would get the descriptor, and the terminal output would be written into that file. Call
// it first in main().
bool open_standard_streams();

// Does the same after plugins were called, and logs a warning if one of them closed a standard stream.
void restore_standard_streams();

// Writes what is buffered for standard output. Throws Error(system) if any output of the process could not be written,
// such as to a full disk.
void flush_standard_output();

}  // namespace tenon::host
