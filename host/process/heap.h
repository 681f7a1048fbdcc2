// The heap of the process: the memory that malloc gets from the kernel.
#pragma once

namespace tenon::host {

// Makes allocations cheap from the first one on:
//
// - The heap begins with 63 MiB, and the kernel is requested to use huge pages for them. The constructors of LibTorch
//   allocate 55 MiB in small blocks, which are 14,000 pages of 4 KiB.
// - Memory that is freed stays in the process, blocks of up to 1 GiB. By default glibc returns large blocks to the
//   kernel. Each training step frees and allocates the same large tensors, and would get empty pages, which the kernel
//   fills with zeros one by one.
//
// Within a limit of memory (ulimit -v, ulimit -d) the heap begins as usual.
//
// A function for .preinit_array, which runs before the constructors of all libraries. Does nothing if `environment` has
// settings of malloc (MALLOC_*, GLIBC_TUNABLES), or with a sanitizer. Has no effect on the allocator of another
// library.
void set_up_heap(int argc, char** argv, char** environment);

}  // namespace tenon::host
