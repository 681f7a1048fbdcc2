#include "framework/config/resolve/resolve_distributed.h"

#include <algorithm>

namespace tenon::config {
namespace {

Backend to_backend(const std::string& name) {
  if (name == "gloo") return Backend::gloo;
  return name == "nccl" ? Backend::nccl : Backend::automatic;
}

Compression to_compression(const std::string& name) {
  if (name == "fp16") return Compression::fp16;
  return name == "bf16" ? Compression::bf16 : Compression::none;
}

Shard to_shard(const std::string& name) {
  if (name == "gradients") return Shard::gradients;
  if (name == "parameters") return Shard::parameters;
  return name == "optimizer" ? Shard::optimizer : Shard::none;
}

}  // namespace

std::string to_string(Backend backend) {
  switch (backend) {
    case Backend::automatic: return "auto";
    case Backend::gloo: return "gloo";
    case Backend::nccl: return "nccl";
  }
  return "unknown";
}

std::string to_string(Compression compression) {
  switch (compression) {
    case Compression::none: return "none";
    case Compression::fp16: return "fp16";
    case Compression::bf16: return "bf16";
  }
  return "unknown";
}

std::string to_string(Shard shard) {
  switch (shard) {
    case Shard::none: return "none";
    case Shard::optimizer: return "optimizer";
    case Shard::gradients: return "gradients";
    case Shard::parameters: return "parameters";
  }
  return "unknown";
}

DistributedSection resolve_distributed(const DistributedConfig& config, Diagnostics& diagnostics) {
  DistributedSection distributed;
  distributed.processes = config.processes.value_or(distributed.processes);
  distributed.backend = to_backend(config.backend.value_or("auto"));
  distributed.interface = config.interface.value_or("");
  distributed.timeout_s = config.timeout_s.value_or(distributed.timeout_s);
  distributed.bucket_mib = config.bucket_mib.value_or(distributed.bucket_mib);
  distributed.first_bucket_mib = config.first_bucket_mib.value_or(distributed.first_bucket_mib);
  distributed.compression = to_compression(config.compression.value_or("none"));
  distributed.shard = to_shard(config.shard.value_or("none"));
  distributed.find_unused_parameters = config.find_unused_parameters.value_or(false);
  distributed.static_graph = config.static_graph.value_or(false);
  distributed.synchronize_batch_norm = config.synchronize_batch_norm.value_or(false);
  if (distributed.find_unused_parameters && distributed.static_graph) {
    diagnostics.add(
        std::max(config.find_unused_parameters.place, config.static_graph.place),
        "distributed.find_unused_parameters and distributed.static_graph are both true; expected one of them: "
        "a static graph detects its unused parameters in the first step");
  }
  const bool divides_gradients = distributed.shard == Shard::gradients || distributed.shard == Shard::parameters;
  if (distributed.static_graph && divides_gradients)
    diagnostics.add(std::max(config.static_graph.place, config.shard.place),
                    "distributed.static_graph is true and distributed.shard is \"" + to_string(distributed.shard) +
                        "\"; expected one of them: a gradient is sent and freed after its first computation in a "
                        "backward");
  return distributed;
}

}  // namespace tenon::config
