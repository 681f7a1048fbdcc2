// Keeps freed memory in the process, so that the next step does not get it from the kernel again.
#pragma once

namespace tenon::host {

// Each training step allocates and frees the same large tensors. By default glibc returns large blocks to the kernel,
// and the next step gets empty pages, which the kernel fills with zeros one by one. After this call glibc keeps blocks
// of up to 1 GiB. Does nothing if the environment has settings of malloc (MALLOC_*, GLIBC_TUNABLES), or with another
// allocator.
void keep_freed_memory();

}  // namespace tenon::host
