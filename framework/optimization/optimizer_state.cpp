#include <map>
#include <sstream>

#include <ATen/core/grad_mode.h>

#include "framework/optimization/optimizer.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::optimization {
namespace {

using support::Error;
using support::ErrorKind;

void check_entry(const NamedTensor& entry, const at::Tensor& expected) {
  if (entry.tensor.sizes() == expected.sizes() && entry.tensor.scalar_type() == expected.scalar_type()) return;
  std::ostringstream message;
  message << "optimizer state " << entry.name << ": " << c10::toString(entry.tensor.scalar_type()) << ' '
          << entry.tensor.sizes() << "; expected " << c10::toString(expected.scalar_type()) << ' ' << expected.sizes()
          << "; use a checkpoint of the same model and optimizer";
  throw Error(ErrorKind::checkpoint, message.str());
}

}  // namespace

std::vector<NamedTensor> Optimizer::state() const {
  std::vector<NamedTensor> state;
  for (size_t i = 0; i < state_.size(); ++i)
    for (size_t k = 0; k < state_[i].size(); ++k)
      if (state_[i][k].defined())
        state.push_back({parameters_[i].name + "." + rule_of(i)->state_names()[k], state_[i][k]});
  return state;
}

void Optimizer::load_state(const std::vector<NamedTensor>& state) {
  const at::NoGradGuard no_grad;
  std::map<std::string, const NamedTensor*> entries;
  for (const NamedTensor& entry : state) entries[entry.name] = &entry;
  std::vector<std::vector<at::Tensor>> loaded(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& tensor = parameters_[i].tensor;
    const std::vector<const char*>& state_names = rule_of(i)->state_names();
    std::string missing;
    for (size_t k = 0; k < state_names.size(); ++k) {
      const std::string name = parameters_[i].name + "." + state_names[k];
      const auto found = entries.find(name);
      if (found == entries.end()) {
        missing = name;
        continue;
      }
      if (!is_owned_[i]) {
        entries.erase(found);
        continue;
      }
      const at::Tensor expected = rule_of(i)->make_zeros(k, tensor);
      check_entry(*found->second, expected);
      loaded[i].push_back(expected.copy_(found->second->tensor));
      entries.erase(found);
    }
    if (!loaded[i].empty() && !missing.empty())
      throw Error(ErrorKind::checkpoint, "optimizer state " + missing +
                                             ": missing, though there is other state of its parameter; expected all of "
                                             "it; use a checkpoint of the same model and optimizer");
  }
  if (!entries.empty())
    throw Error(ErrorKind::checkpoint, "optimizer state " + entries.begin()->first +
                                           ": does not belong to a parameter for which this optimizer keeps such "
                                           "state; use a checkpoint of the same model and optimizer");
  state_ = std::move(loaded);
  for (Batch& batch : batches_) batch.active.clear();
}

}  // namespace tenon::optimization
