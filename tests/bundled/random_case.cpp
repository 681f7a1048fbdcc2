#include "tests/bundled/random_case.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/pipeline/state/saved_state.h"
#include "tests/doctest_with_torch.h"

namespace tenon::bundled {

namespace {

// Returns the 64-bit FNV-1a hash.
uint64_t hash_name(std::string_view name) {
  uint64_t value = 0xCBF29CE484222325;
  for (const char byte : name) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001B3;
  return value;
}

}  // namespace

RandomCase::RandomCase(std::string_view component, int64_t number)
    : state_(hash_name(component) + static_cast<uint64_t>(number) * 0xD1342543DE82EF95) {}

at::Tensor RandomCase::integers(const std::vector<int64_t>& shape, int64_t first, int64_t end) {
  at::Tensor made = torch::empty(shape, torch::kInt64);
  auto* element = made.data_ptr<int64_t>();
  for (int64_t i = 0; i < made.numel(); ++i) {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    mixed ^= mixed >> 31;
    element[i] = static_cast<int64_t>(mixed % static_cast<uint64_t>(end - first)) + first;
  }
  return made;
}

int64_t RandomCase::between(int64_t first, int64_t last) { return integers({1}, first, last + 1).item<int64_t>(); }

at::Tensor RandomCase::numbers(const std::vector<int64_t>& shape, int64_t scale) {
  return integers(shape, -1024, 1025).to(torch::kDouble).div(scale);
}

std::vector<double> RandomCase::quarters(int64_t count, int64_t first, int64_t end) {
  const at::Tensor drawn = integers({count}, first, end).to(torch::kDouble) / 4;
  return {drawn.data_ptr<double>(), drawn.data_ptr<double>() + count};
}

std::vector<int64_t> RandomCase::trailing_shape() { return choose<std::vector<int64_t>>({{}, {3}, {2, 3}}); }

void RandomCase::ignore(at::Tensor& target, int64_t ignore_index) {
  const auto mode = choose<std::string>({"none", "some", "some", "some", "all", "none"});
  const at::Tensor drawn = integers(target.sizes().vec(), 0, 3);
  if (mode == "some") target.masked_fill_(drawn.eq(0), ignore_index);
  if (mode == "all") target.fill_(ignore_index);
}

std::vector<int64_t> join(std::vector<int64_t> front, const std::vector<int64_t>& rest) {
  front.insert(front.end(), rest.begin(), rest.end());
  return front;
}

std::vector<at::Tensor> read_reference(const std::string& file, at::ScalarType dtype,
                                       const std::vector<std::pair<std::string, int64_t>>& components) {
  at::set_num_threads(1);  // the tensors are too small for more threads
  const artifacts::SafetensorsFile stored(TENON_SOURCE_DIR "/tests/parity/reference/" + file + ".safetensors");
  std::vector<at::Tensor> tables;
  for (const auto& [component, columns] : components) {
    const artifacts::TensorView* const found = stored.find(component);
    REQUIRE(found);
    const at::Tensor table = pipeline::copy_stored(*found);
    REQUIRE(table.sizes() == at::IntArrayRef({kRandomCases, columns}));
    tables.push_back(table.to(dtype).to(torch::kDouble));
  }
  return tables;
}

}  // namespace tenon::bundled
