// Generates the same random inputs as tests/parity/random_cases.py, so that only results are stored. The generator is
// SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::bundled {

constexpr int64_t kRandomCases = 1000;

class RandomCase {
 public:
  RandomCase(std::string_view component, int64_t number);

  int64_t between(int64_t first, int64_t last);  // one integer in [first, last]
  template <class T>
  T choose(const std::vector<T>& options) {
    return options[static_cast<size_t>(between(0, static_cast<int64_t>(options.size()) - 1))];
  }
  at::Tensor integers(const std::vector<int64_t>& shape, int64_t first, int64_t end);  // in [first, end)
  // Returns multiples of 1 / scale from -1024 / scale to 1024 / scale, float64.
  at::Tensor numbers(const std::vector<int64_t>& shape, int64_t scale);
  std::vector<double> quarters(int64_t count, int64_t first, int64_t end);  // integers / 4
  std::vector<int64_t> trailing_shape();                                    // the dimensions that a port leaves open
  // Sets no target, a third of the targets or all targets to the ignored value, in place.
  void ignore(at::Tensor& target, int64_t ignore_index);

 private:
  uint64_t state_;
};

// Returns the shape [front..., rest...].
std::vector<int64_t> join(std::vector<int64_t> front, const std::vector<int64_t>& rest);

// Reads the table of a component from tests/parity/reference/<file>.safetensors: [kRandomCases, columns], float64.
std::vector<at::Tensor> read_reference(const std::string& file, at::ScalarType dtype,
                                       const std::vector<std::pair<std::string, int64_t>>& components);

}  // namespace tenon::bundled
