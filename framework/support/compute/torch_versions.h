// What differs between the versions of LibTorch that this source is for: 2.11 to 2.15.
#pragma once

#include <memory>
#include <utility>

#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>
#include <torch/headeronly/version.h>

// Whether LibTorch has this version or a later one.
#define TENON_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace tenon::support {

// The pointer to a node of the graph that LibTorch keeps: std::shared_ptr, and since 2.13 c10::intrusive_ptr.
using NodePointer = decltype(torch::autograd::Edge::function);

// Creates a node, which set_history() and Edge take.
template <class Node, class... Arguments>
auto make_node(Arguments&&... arguments) {
#if TENON_TORCH_AT_LEAST(2, 13)
  return c10::make_intrusive<Node>(std::forward<Arguments>(arguments)...);
#else
  return std::shared_ptr<Node>(new Node(std::forward<Arguments>(arguments)...), torch::autograd::deleteNode);
#endif
}

// Ends that the generator records for the graph, in versions in which it knows its graphs (before 2.13).
template <class Generator, class Graph>
void unregister_graph(Generator& generator, Graph& graph) {
  if constexpr (requires { generator.unregister_graph(&graph); }) generator.unregister_graph(&graph);
}

// Starts an exchange of parts of one tensor between the ranks. Newer versions have another name for it.
template <class ProcessGroup, class... Arguments>
auto start_all_to_all(ProcessGroup& group, Arguments&... arguments) {
  if constexpr (requires { group.all_to_all_single(arguments...); })
    return group.all_to_all_single(arguments...);
  else
    return group.alltoall_base(arguments...);
}

}  // namespace tenon::support
