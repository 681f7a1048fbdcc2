// The end of the process: which destructors run.
#pragma once

namespace tenon::host {

// After this call, exit() and the return from main() end the process before the destructors of the libraries that the
// host is linked with: those of LibTorch take 0.1 s, and only free memory that the system takes back anyway. The static
// objects of plugins are destroyed, and functions given to atexit() from now on are called, as always; functions with
// the attribute `destructor` are not. For the start of main(). Does nothing if LD_PRELOAD or CUDA_INJECTION64_PATH is
// set, or with a sanitizer, because such tools write their results in destructors.
void skip_library_destructors();

}  // namespace tenon::host
