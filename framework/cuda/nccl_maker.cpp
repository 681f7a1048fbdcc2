#include "framework/cuda/nccl_maker.h"

#include <torch/types.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace tenon::cuda {

MakeBackend nccl_maker(const DeviceLibrary& library) {
  return [&library](const auto& store, int rank, int size, std::chrono::milliseconds timeout) {
    return library.make_nccl(store, rank, size, timeout);
  };
}

}  // namespace tenon::cuda
