// [distributed] with all defaults: how the processes of one run find each other and communicate.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "framework/config/values/enum_names.h"

namespace tenon::config {

// The communication backend: the library that transfers tensors between processes.
enum class Backend {
  automatic,  // nccl if the run has a GPU for each process, else gloo
  gloo,
  nccl
};
template <>
inline constexpr std::array kNames<Backend> = {EnumName{Backend::automatic, "auto"}, EnumName{Backend::gloo, "gloo"},
                                               EnumName{Backend::nccl, "nccl"}};

// The dtype to which gradients are rounded for communication. They are also summed in this dtype.
enum class Compression { none, fp16, bf16 };
template <>
inline constexpr std::array kNames<Compression> = {
    EnumName{Compression::none, "none"}, EnumName{Compression::fp16, "fp16"}, EnumName{Compression::bf16, "bf16"}};

// What is divided over the processes instead of being kept by each of them.
enum class Shard {
  none,
  optimizer,  // the optimizer's state
  gradients,  // the gradients, too
  parameters  // the weights, too
};
template <>
inline constexpr std::array kNames<Shard> = {EnumName{Shard::none, "none"}, EnumName{Shard::optimizer, "optimizer"},
                                             EnumName{Shard::gradients, "gradients"},
                                             EnumName{Shard::parameters, "parameters"}};

struct DistributedSection {
  int64_t processes = 1;                 // started by `host --config` on this machine, unless another launcher did
  Backend backend = Backend::automatic;  // `"auto"`
  std::string interface;                 // network interface to other machines, "eth0"; empty: detected
  double timeout_s = 100;                // how long one process waits for another
  double bucket_mib = 25;                // size of a gradient bucket; a bucket is reduced at once
  double first_bucket_mib = 1;           // size of the first bucket, which is ready first in backward
  Compression compression = Compression::none;
  Shard shard = Shard::none;
  bool find_unused_parameters = false;  // in each step, for models that skip parameters in some steps
  bool static_graph = false;            // every step uses the same parameters
  bool synchronize_batch_norm = false;  // batch statistics over the batches of all processes
};

}  // namespace tenon::config
