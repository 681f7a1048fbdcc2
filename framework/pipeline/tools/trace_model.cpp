#include "framework/pipeline/tools/trace_model.h"

#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/script.h>

#include <functional>
#include <sstream>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/formats/torchscript_words.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

namespace {

using components::Model;
using torch::jit::IValue;

[[noreturn]] void refuse(const Model& model, const std::string& what) {
  throw support::Error(support::ErrorKind::plugin, "{}: {}; export its weights as .safetensors instead of TorchScript",
                       model.component().describe(), what);
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// Builds a module for each prefix of a dotted name, nested as in PyTorch, so that names are unchanged.
class ModuleTree {
 public:
  ModuleTree() { modules_.emplace("", make()); }

  torch::jit::Module root() const { return modules_.at(""); }

  void add(const components::NamedTensor& named) {
    find(components::module_of(named.name))
        .register_parameter(last_part(named.name), named.tensor, /*is_buffer=*/!named.trainable);
  }

 private:
  torch::jit::Module make() {
    torch::jit::Module module(c10::QualifiedName("__torch__.tenon.Module"), unit_, /*shouldMangle=*/true);
    module.register_attribute("training", c10::BoolType::get(), false);
    return module;
  }

  torch::jit::Module& find(const std::string& name) {
    if (const auto known = modules_.find(name); known != modules_.end()) return known->second;
    torch::jit::Module& owner = find(components::module_of(name));
    torch::jit::Module& module = modules_.emplace(name, make()).first->second;
    owner.register_module(last_part(name), module);
    return module;
  }

  std::shared_ptr<torch::jit::CompilationUnit> unit_ = std::make_shared<torch::jit::CompilationUnit>();
  std::map<std::string, torch::jit::Module> modules_;
};

std::vector<IValue> to_stack(const ModelInputs& inputs) { return {inputs.begin(), inputs.end()}; }

std::vector<at::Tensor> to_tensors(const std::vector<IValue>& stack) {
  std::vector<at::Tensor> tensors;
  for (const IValue& value : stack) tensors.push_back(value.toTensor());
  return tensors;
}

// The results of the model, each followed by its lengths if it is a list.
std::vector<at::Tensor> list_results(const Model& model, const std::vector<at::Tensor>& outputs) {
  const components::ComputedResults computed = model.compute_results({}, outputs);
  std::vector<at::Tensor> results;
  for (size_t i = 0; i < computed.values.size(); ++i) {
    results.push_back(computed.values[i]);
    if (computed.lengths[i].defined()) results.push_back(computed.lengths[i]);
  }
  return results;
}

// Adds a method of the module, traced on these inputs.
void add_method(torch::jit::Module& module, const std::string& name, const std::vector<std::string>& input_names,
                const std::vector<at::Tensor>& inputs,
                const std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>& compute) {
  const auto traced_function = [&](const std::vector<IValue>& stack) -> std::vector<IValue> {
    const std::vector<at::Tensor> outputs = compute(to_tensors(stack));
    if (outputs.size() == 1) return {outputs[0]};
    return {c10::ivalue::Tuple::create(to_stack(outputs))};
  };
  const auto name_of = [](const at::Tensor&) { return std::string(); };
  const auto traced = torch::jit::tracer::trace(to_stack(inputs), traced_function, name_of, /*strict=*/true,
                                                /*force_outplace=*/false, &module, input_names);
  module.type()->addMethod(module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), name), traced.first->graph));
}

torch::jit::Module trace(const Model& model, const ModelInputs& inputs, bool has_results) {
  ModuleTree tree;
  // The names become those of attributes in TorchScript's code.
  for (const components::NamedTensor& named : model.tensors())
    if (const std::string word = formats::find_torchscript_word(named.name); !word.empty())
      refuse(model,
             fmt::format("the tensor {} has \"{}\" in its name, a word of TorchScript's language; rename the layer",
                         named.name, word));
  for (const components::NamedTensor& named : model.tensors()) tree.add(named);
  torch::jit::Module module = tree.root();
  const auto names_of = [](const std::vector<components::Port>& ports) {
    std::vector<std::string> names;
    for (const components::Port& port : ports) names.push_back(port.name);
    return names;
  };
  add_method(module, "forward", names_of(model.inputs()), inputs,
             [&](const std::vector<at::Tensor>& given) { return model.forward({}, given); });
  if (has_results)
    add_method(module, "results", names_of(model.outputs()), model.forward({}, inputs),
               [&](const std::vector<at::Tensor>& given) { return list_results(model, given); });
  return module;
}

// Half of the samples, or a single sample twice.
ModelInputs resize(const ModelInputs& batch) {
  ModelInputs other;
  for (const at::Tensor& input : batch)
    other.push_back(input.size(0) > 1 ? input.narrow(0, 0, input.size(0) / 2) : at::cat({input, input}));
  return other;
}

std::string describe(const ModelInputs& inputs) {
  std::string text;
  for (const at::Tensor& input : inputs) text += (text.empty() ? "" : ", ") + components::describe(input);
  return text;
}

// Describes how a method of the loaded module differs from what the model gives; empty: no difference.
std::string find_difference(torch::jit::Module& module, const std::string& method,
                            const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& expected,
                            const std::vector<std::string>& names) {
  std::vector<at::Tensor> found;
  try {
    const IValue result = module.get_method(method)(to_stack(inputs));
    found = result.isTensor() ? std::vector<at::Tensor>{result.toTensor()} : to_tensors(result.toTuple()->elements());
  } catch (const std::exception& error) {
    // LibTorch's message starts with the interpreter's stack; the cause is in the last line.
    std::string words = error.what();
    words.erase(words.find_last_not_of('\n') + 1);
    return "fails: " + words.substr(words.rfind('\n') + 1);
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string& name = names[i];
    if (found[i].sizes() != expected[i].sizes() || found[i].scalar_type() != expected[i].scalar_type())
      return fmt::format("gives {} as {}; the model gives {}", name, components::describe(found[i]),
                         components::describe(expected[i]));
    if (!at::allclose(found[i], expected[i], 1e-5, 1e-6, /*equal_nan=*/true))
      return "gives different values for " + name;
  }
  return "";
}

std::string find_difference(const Model& model, torch::jit::Module& module, const ModelInputs& inputs) {
  std::vector<std::string> names;
  for (const components::Port& port : model.outputs()) names.push_back(port.name);
  return find_difference(module, "forward", inputs, model.forward({}, inputs), names);
}

std::string find_result_difference(const Model& model, torch::jit::Module& module, const ModelInputs& inputs) {
  std::vector<std::string> names;
  for (const components::ModelResult& result : model.results()) {
    names.push_back(result.name);
    if (result.is_list) names.push_back("the lengths of " + result.name);
  }
  const std::vector<at::Tensor> outputs = model.forward({}, inputs);
  return find_difference(module, "results", outputs, list_results(model, outputs), names);
}

}  // namespace

std::string trace_model(const Model& model, const std::vector<ModelInputs>& batches,
                        const std::map<std::string, std::string>& extra_files) {
  TENON_CHECK(!batches.empty(), "there is no batch to trace " << model.component().describe() << " on");
  const at::NoGradGuard no_grad;
  std::vector<ModelInputs> trials{resize(batches.front())};
  trials.insert(trials.end(), batches.begin(), batches.end());
  for (bool has_results = !model.results().empty();; has_results = false) {
    std::ostringstream file;
    try {
      trace(model, batches.front(), has_results).save(file, {extra_files.begin(), extra_files.end()});
    } catch (const c10::Error& error) {
      refuse(model, std::string("cannot be traced: ") + error.what_without_backtrace());
    }
    std::istringstream written(file.str());
    torch::jit::Module module = torch::jit::load(written);
    std::string lost;  // how its results differ
    for (const ModelInputs& inputs : trials) {
      const std::string on = " on " + describe(inputs);
      if (const std::string difference = find_difference(model, module, inputs); !difference.empty())
        refuse(model, "traced on " + describe(batches.front()) + ", its TorchScript " + difference + on +
                          ": forward has branches or sizes that tracing records as constants");
      if (const std::string difference = has_results ? find_result_difference(model, module, inputs) : "";
          !difference.empty() && lost.empty())
        lost = difference + on;
    }
    if (lost.empty()) return file.str();
    support::log_warning(
        "{}: the exported model has no results, because their TorchScript {}: compute_results has branches, numbers of "
        "tensors or sizes that tracing records as constants",
        model.component().describe(), lost);
  }
}

}  // namespace tenon::pipeline
