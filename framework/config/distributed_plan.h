// [distributed] with nothing left unset: how the processes of one run find and speak to each other.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::config {

// Which library carries tensors between processes.
enum class Backend {
  automatic,  // nccl where the run has a GPU for each process, gloo elsewhere
  gloo,
  nccl
};

// What gradients are rounded to for the way between processes; they are summed in it too.
enum class Compression { none, fp16, bf16 };

std::string to_string(Backend backend);          // as the run file writes it
std::string to_string(Compression compression);  // as the run file writes it

struct DistributedSection {
  int64_t processes = 1;                 // that `host --config` starts on this machine, where no other launcher has
  Backend backend = Backend::automatic;  // `"auto"`
  std::string interface;                 // the network interface to other machines, "eth0"; empty: found
  double timeout_s = 100;                // that one process waits for another
  double bucket_mib = 25;                // gradients that are reduced at once
  double first_bucket_mib = 1;           // those of the first bucket, which is full earliest in backward
  Compression compression = Compression::none;
  bool find_unused_parameters = false;  // in each step, of models that do not use all of them in each
  bool static_graph = false;            // every step uses the same parameters
  bool synchronize_batch_norm = false;  // statistics of a batch are those of all processes' batches
};

}  // namespace tenon::config
