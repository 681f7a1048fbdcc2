// Compares an operator call of a portable plugin through the host's table with a direct call in C++. The tensors have
// few elements, so that call overhead dominates the time.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include <tenon/ops.h>

#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/components/tensors/tensor_handles.h"

namespace {

using tenon::components::Frame;
using tenon::components::to_handle;

struct Inputs {
  at::Tensor x = torch::randn({4, 4});
  at::Tensor weight = torch::randn({4, 4});
  at::Tensor bias = torch::randn({4});
};

at::Tensor direct_add(const Inputs& in) { return at::add(in.x, in.weight); }
at::Tensor direct_relu(const Inputs& in) { return at::relu(in.x); }
at::Tensor direct_linear(const Inputs& in) { return at::linear(in.x, in.weight, in.bias); }
at::Tensor direct_layer_norm(const Inputs& in) { return at::layer_norm(in.x, {4}, in.bias, in.bias, 1e-5); }

tenon_tensor* through_add(tenon_calls* calls, const Inputs& in) {
  return tenon_add(calls, to_handle(in.x), to_handle(in.weight));
}
tenon_tensor* through_relu(tenon_calls* calls, const Inputs& in) { return tenon_relu(calls, to_handle(in.x)); }
tenon_tensor* through_linear(tenon_calls* calls, const Inputs& in) {
  return tenon_linear(calls, to_handle(in.x), to_handle(in.weight), to_handle(in.bias));
}
tenon_tensor* through_layer_norm(tenon_calls* calls, const Inputs& in) {
  static const int64_t shape[] = {4};
  return tenon_layer_norm(calls, to_handle(in.x), shape, 1, to_handle(in.bias), to_handle(in.bias), 1e-5);
}

constexpr int kCallsInFrame = 20;  // about as many as in a small model

template <at::Tensor (*Call)(const Inputs&)>
void direct(benchmark::State& state) {
  const torch::NoGradGuard no_grad;
  const Inputs inputs;
  for (auto _ : state) {
    std::vector<at::Tensor> kept;
    for (int i = 0; i < kCallsInFrame; ++i) kept.push_back(Call(inputs));
    benchmark::DoNotOptimize(kept.data());
  }
  state.SetItemsProcessed(state.iterations() * kCallsInFrame);
}

template <tenon_tensor* (*Call)(tenon_calls*, const Inputs&)>
void through_table(benchmark::State& state) {
  const torch::NoGradGuard no_grad;
  tenon::components::install_libtorch();
  tenon_ops ops;
  tenon_ops_open(&tenon::components::host_table(), &ops);
  const Inputs inputs;
  const std::vector<tenon_tensor*> none;
  for (auto _ : state) {
    Frame frame({}, none);
    tenon_calls calls = tenon_begin(&ops, frame.get());
    for (int i = 0; i < kCallsInFrame; ++i) benchmark::DoNotOptimize(Call(&calls, inputs));
    if (calls.status != TENON_OK) state.SkipWithError("the host rejected the call");
  }
  state.SetItemsProcessed(state.iterations() * kCallsInFrame);
}

#define BOTH(name)                                                  \
  BENCHMARK_TEMPLATE(direct, direct_##name)->Name(#name "/direct"); \
  BENCHMARK_TEMPLATE(through_table, through_##name)->Name(#name "/call")

BOTH(add);
BOTH(relu);
BOTH(linear);
BOTH(layer_norm);

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
