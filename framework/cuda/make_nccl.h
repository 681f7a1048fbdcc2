// Creates the NCCL process group. It has a separate file because its headers are large and need CUDA.
#pragma once

#include <chrono>
#include <string>

#include <c10/util/intrusive_ptr.h>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace tenon::cuda {

// See DeviceLibrary::make_nccl.
c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds timeout);

std::string nccl_version();  // "2.28.9"

}  // namespace tenon::cuda
