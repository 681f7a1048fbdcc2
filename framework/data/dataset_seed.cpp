#include "framework/data/dataset_seed.h"

#include "framework/support/compute/philox.h"

namespace tenon::data {
namespace {

// FNV-1a (Fowler, Noll, Vo). It gives the same number on every machine; std::hash does not guarantee that. Philox mixes
// the bits.
constexpr uint64_t hash_name(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

}  // namespace

uint64_t derive_dataset_seed(uint64_t run_seed, std::string_view name) {
  if (name == "train") return run_seed;
  return support::derive_seed(run_seed, support::StreamPurpose::dataset, 0, hash_name(name));
}

}  // namespace tenon::data
