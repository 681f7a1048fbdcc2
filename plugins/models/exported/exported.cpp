// A model that torch.export has described: its graph runs through LibTorch's dispatcher, without Python.
#include <tenon/capture.h>
#include <tenon/frozen_parameters.h>
#include <tenon/trusted_files.h>
#include <tenon/checkpointing.hpp>
#include <tenon/detail/extension.hpp>
#include <tenon/log.hpp>
#include <tenon/torch.hpp>

#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plugins/models/exported/archive.h"
#include "plugins/models/exported/compile.h"
#include "plugins/models/exported/compiled.h"
#include "plugins/models/exported/run.h"

namespace {

using exported::Json;
using exported::Mode;
using exported::Program;
using exported::Segment;
using exported::StoredTensor;
using exported::StoredTensors;
using tenon::Port;

struct Weight {
  std::string name;
  at::Tensor tensor;
  bool is_trained;
  bool is_parameter;
};

std::string record_of(const std::string& model) { return "models/" + model + ".json"; }

// Calls `body`, and adds the file and the record to what it throws.
template <class Body>
auto within(const exported::Archive& archive, const std::string& record, Body&& body) {
  try {
    return body();
  } catch (const std::invalid_argument& error) {
    archive.refuse(record, error.what());
  } catch (const Json::exception& error) {
    archive.refuse(record, error.what());
  }
}

// A graph of the archive.
struct Graph {
  std::string name;
  Json json;
  StoredTensors constants;
};

Graph read_graph(exported::Archive& archive, const std::string& name) {
  Graph graph = {name, archive.read_json(record_of(name)), {}};
  within(archive, record_of(name), [&] { exported::check_version(graph.json); });
  graph.constants =
      exported::read_tensors(archive, "data/constants/" + name + "_constants_config.json", "data/constants/");
  return graph;
}

// The graphs for training and evaluation, or one for both.
std::vector<Graph> read_graphs(exported::Archive& archive) {
  const std::vector<std::string>& names = archive.models();
  if (names.size() == 1) return {read_graph(archive, names.front())};
  if (names == std::vector<std::string>{"eval", "train"})
    return {read_graph(archive, "train"), read_graph(archive, "eval")};
  std::string found;
  for (const std::string& name : names) found += (found.empty() ? "" : ", ") + name;
  throw tenon::DataError(archive.path() + ": has the models " + (found.empty() ? "(none)" : found) +
                         "; expected one model, or `train` and `eval`");
}

// The names in the order of the signature, as state_dict() has them, then those that the graph does not use.
std::vector<std::string> order_names(const Json& model, const StoredTensors& stored) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (stored.contains(name) && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  const Json& signature = exported::field(exported::field(model, "graph_module"), "signature");
  for (const Json& each : exported::elements(exported::field(signature, "input_specs"))) {
    const exported::Tagged spec = exported::tagged(each);
    if (spec.tag == "parameter") add(exported::text(exported::field(spec.value, "parameter_name")));
    if (spec.tag == "buffer") add(exported::text(exported::field(spec.value, "buffer_name")));
  }
  for (const auto& [name, tensor] : stored) add(name);
  return names;
}

void wrap_outputs(const std::vector<at::Tensor>& tensors, const tenon_frame* frame, tenon_tensor** outputs,
                  uint64_t output_count) {
  if (tensors.size() != output_count)
    throw tenon::Error(TENON_INVALID_ARGUMENT, "forward has " + std::to_string(tensors.size()) + " outputs; expected " +
                                                   std::to_string(output_count));
  for (size_t i = 0; i < tensors.size(); ++i) outputs[i] = tenon::detail::wrap_in_frame(tensors[i], frame);
}

class ExportedModel {
 public:
  static std::vector<tenon::Param> schema() {
    return {
        tenon::required<tenon::Path>("path").doc("the .pt2 archive that torch.export or scripts/export_model.py wrote"),
        tenon::param("outputs", std::vector<std::string>{})
            .doc("names of the outputs; empty: the keys of the dictionary that forward returns, or `output`"),
        tenon::param("compiled", false)
            .doc(
                "runs the machine code that scripts/export_model.py --compile added to the archive; it is trusted like "
                "a plugin")};
  }

  explicit ExportedModel(const tenon::Params& params) : path_(params.path("path")) {
    const bool is_compiled = params.boolean("compiled");
    if (is_compiled)
      tenon::detail::check(tenon::detail::require_extension<tenon_trusted_files>(TENON_TRUSTED_FILES)
                               .check(tenon::detail::borrow(path_)));
    exported::Archive archive(path_);
    const std::vector<Graph> graphs = read_graphs(archive);
    read_weights(archive, graphs);
    ports_ = std::make_unique<tenon::detail::Table<Port>>(read_all_ports(archive, graphs, params.texts("outputs")));
    compile_programs(archive, graphs);
    if (is_compiled) load_compiled(archive);
  }

  const tenon::detail::Table<Port>& ports() const { return *ports_; }
  const std::vector<tenon_tied_weight>& tied_weights() const { return tied_descriptors_; }
  const std::vector<tenon_string>& frozen_parameters() const { return frozen_parameters_; }

  void build(const tenon::Builder& builder) {
    using namespace tenon::detail;
    frame_index_.clear();
    for (const Weight& weight : weights_) {
      tenon_tensor* const handle = native_torch().wrap(&weight.tensor);
      try {
        frame_index_.push_back(builder.adopt(weight.name, handle, weight.is_trained ? TENON_TRAINABLE : 0));
      } catch (...) {
        host->release(handle);
        throw;
      }
      host->release(handle);
    }
  }

  std::vector<at::Tensor> forward(const tenon_frame* frame, const std::vector<at::Tensor>& inputs) {
    const size_t which = frame->training ? 0 : 1;
    if (compiled_) {
      const std::vector<at::Tensor> weights = weights_of(frame);
      const std::optional<std::string> obstacle = find_obstacle(frame, weights, inputs);
      if (!obstacle)
        return within_path([&] {
          const c10::Device device = inputs.at(0).device();
          return compiled_->run(frame->training, weights, constants_[which]->on(device), inputs);
        });
      report_unused(*obstacle);
    }
    exported::CallSegment call_segment;
    if (frame->training)
      call_segment = [&](const Segment& segment, const std::vector<c10::IValue>& values) {
        return checkpoint(frame, segment, values, inputs.at(0).device());
      };
    return within_path(
        [&] { return exported::run(programs_[which], *constants_[which], weights_of(frame), inputs, call_segment); });
  }

  std::vector<at::Tensor> forward_segment(const tenon_frame* frame, const Segment& segment,
                                          const std::vector<c10::IValue>& inputs, c10::Device device) {
    return within_path([&] {
      return exported::run_segment(programs_[0], segment, *constants_[0], weights_of(frame), inputs, device);
    });
  }

  // Whether training calls the same operators with the same sizes in each step.
  bool is_capturable() const {
    return std::ranges::none_of(programs_[0].instructions, [](const exported::Instruction& instruction) {
      return instruction.op && (instruction.op->hasTag(at::Tag::data_dependent_output) ||
                                instruction.op->hasTag(at::Tag::dynamic_output_shape));
    });
  }

 private:
  // A segment in a forward, with its inputs. The tensors among them are passed to the host, and returned by it.
  struct SegmentCall {
    ExportedModel* model;  // outlives every backward
    const Segment* segment;
    std::vector<c10::IValue> inputs;
    c10::Device device;

    static tenon_status forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                                tenon_tensor** outputs, uint64_t output_count) {
      return tenon::detail::guard_torch([&] {
        const SegmentCall& call = *static_cast<SegmentCall*>(self);
        const std::vector<at::Tensor> tensors = tenon::detail::unwrap_all(inputs, input_count);
        std::vector<c10::IValue> values = call.inputs;
        auto next = tensors.begin();
        for (c10::IValue& value : values)
          if (value.isTensor()) value = *next++;
        wrap_outputs(call.model->forward_segment(frame, *call.segment, values, call.device), frame, outputs,
                     output_count);
      });
    }
    static void release(void* self) { delete static_cast<SegmentCall*>(self); }

    static constexpr tenon_segment table = {sizeof(tenon_segment), &forward, &release};
  };

  std::vector<at::Tensor> checkpoint(const tenon_frame* frame, const Segment& segment, std::vector<c10::IValue> inputs,
                                     c10::Device device) {
    std::vector<tenon_tensor*> handles, outputs(segment.outputs.size(), nullptr);
    for (c10::IValue& value : inputs) {
      if (!value.isTensor()) continue;
      handles.push_back(tenon::detail::wrap_in_frame(value.toTensor(), frame));
      value = at::Tensor();  // the host keeps it
    }
    const auto call = new SegmentCall{this, &segment, std::move(inputs), device};
    tenon::detail::check(tenon::detail::checkpointing().run(frame, &SegmentCall::table, call, handles.data(),
                                                            handles.size(), outputs.data(), outputs.size()));
    return tenon::detail::unwrap_all(outputs.data(), outputs.size());
  }

  // Whether the run file turns on activation checkpointing: then the host calls a segment without autograd.
  static bool recomputes_activations(const tenon_frame* frame, const at::Tensor& input) {
    struct Probe {
      static tenon_status forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t,
                                  tenon_tensor** outputs, uint64_t) {
        return tenon::detail::guard_torch([&] {
          *static_cast<bool*>(self) = !at::GradMode::is_enabled();
          outputs[0] = tenon::detail::wrap_in_frame(tenon::detail::unwrap(inputs[0]), frame);
        });
      }
    };
    static constexpr tenon_segment kProbe = {sizeof(tenon_segment), &Probe::forward, nullptr};
    bool recomputes = false;
    tenon_tensor *handle = tenon::detail::wrap_in_frame(input, frame), *output = nullptr;
    tenon::detail::check(tenon::detail::checkpointing().run(frame, &kProbe, &recomputes, &handle, 1, &output, 1));
    return recomputes;
  }

  std::optional<std::string> find_obstacle(const tenon_frame* frame, const std::vector<at::Tensor>& weights,
                                           const std::vector<at::Tensor>& inputs) {
    if (frame->training && at::GradMode::is_enabled()) {
      if (!recomputes_activations_) recomputes_activations_ = recomputes_activations(frame, inputs.at(0));
      if (*recomputes_activations_) return "train.activation_checkpointing recomputes modules, which they do not have";
    }
    return compiled_->find_obstacle(frame->training, weights, inputs);
  }

  // Once for each reason.
  void report_unused(const std::string& reason) {
    if (std::exchange(reported_, reason) != reason)
      tenon::log_warning(path_ + ": the compiled graphs are not used: " + reason);
  }

  void load_compiled(exported::Archive& archive) {
    try {
      compiled_.emplace(archive, exported::CompiledNames{index_.index, programs_[0].constant_names},
                        exported::CompiledNames{index_.index, programs_[1].constant_names});
    } catch (const exported::CompiledModel::Unusable& unusable) {
      report_unused(unusable.reason);
    }
  }

  std::vector<at::Tensor> weights_of(const tenon_frame* frame) const {
    std::vector<at::Tensor> weights;
    weights.reserve(frame_index_.size());
    for (const uint64_t index : frame_index_) {
      if (index >= frame->tensor_count)
        throw tenon::Error(TENON_INVALID_ARGUMENT, "the frame lacks tensors of build()");
      weights.push_back(tenon::detail::unwrap(frame->tensors[index]));
    }
    return weights;
  }

  template <class Body>
  std::vector<at::Tensor> within_path(Body&& body) const {
    try {
      return body();
    } catch (const tenon::HostError&) {
      throw;  // the host has the message of an error within a segment
    } catch (const tenon::Error& error) {
      throw tenon::Error(error.status(), path_ + ": " + error.what());
    }
  }

  void read_weights(exported::Archive& archive, const std::vector<Graph>& graphs) {
    const std::string config = "data/weights/" + graphs[0].name + "_weights_config.json";
    const StoredTensors stored = exported::read_tensors(archive, config, "data/weights/");
    const std::vector<std::string> names =
        within(archive, record_of(graphs[0].name), [&] { return order_names(graphs[0].json, stored); });
    std::map<std::string, size_t> first;  // of the names of a tensor, by its record
    for (const std::string& name : names) {
      const StoredTensor& tensor = stored.at(name);
      const auto [found, is_new] = first.emplace(tensor.record, weights_.size());
      if (is_new) {
        weights_.push_back({name, tensor.tensor, tensor.is_trained, tensor.is_parameter});
        index_.names.push_back(name);
      } else {
        tied_.emplace_back(name, weights_[found->second].name);
      }
      index_.index.emplace(name, found->second);
    }
    for (const Weight& weight : weights_)
      if (weight.is_parameter && !weight.is_trained) frozen_parameters_.push_back(tenon::detail::borrow(weight.name));
    for (const auto& [name, tensor] : tied_)
      tied_descriptors_.push_back({tenon::detail::borrow(name), tenon::detail::borrow(tensor)});
  }

  static std::vector<Port> read_all_ports(const exported::Archive& archive, const std::vector<Graph>& graphs,
                                          const std::vector<std::string>& output_names) {
    std::vector<std::vector<Port>> ports;
    for (const Graph& graph : graphs)
      ports.push_back(
          within(archive, record_of(graph.name), [&] { return exported::read_ports(graph.json, output_names); }));
    if (graphs.size() == 2)
      within(archive, record_of(graphs[1].name), [&] { exported::check_same_ports(ports[0], ports[1]); });
    return ports[0];
  }

  void compile_programs(const exported::Archive& archive, const std::vector<Graph>& graphs) {
    const auto add = [&](const Graph& graph, Mode mode) {
      programs_.push_back(within(archive, record_of(graph.name),
                                 [&] { return exported::compile(graph.json, index_, graph.constants, mode); }));
    };
    add(graphs[0], Mode::as_exported);
    if (graphs.size() == 2) {
      add(graphs[1], Mode::as_exported);
    } else {
      const Mode found = within(archive, record_of(graphs[0].name), [&] { return exported::find_mode(programs_[0]); });
      add(graphs[0], found == Mode::training ? Mode::evaluation : Mode::training);
      if (found == Mode::evaluation) std::swap(programs_[0], programs_[1]);
    }
    programs_[0].segments = exported::find_segments(programs_[0]);
    for (const Program& program : programs_)
      constants_.push_back(std::make_unique<exported::Constants>(program.constants));
  }

  const std::string path_;
  std::unique_ptr<tenon::detail::Table<Port>> ports_;
  std::vector<Weight> weights_;
  exported::Weights index_;
  std::vector<std::pair<std::string, std::string>> tied_;  // a further name, and the name in build()
  std::vector<tenon_tied_weight> tied_descriptors_;
  std::vector<tenon_string> frozen_parameters_;
  std::vector<uint64_t> frame_index_;  // by the index of the weight
  std::vector<Program> programs_;      // for training and evaluation
  std::vector<std::unique_ptr<exported::Constants>> constants_;
  std::optional<exported::CompiledModel> compiled_;
  std::optional<bool> recomputes_activations_;
  std::string reported_;
};

// torch_model's table is for modules that are known when the plugin is compiled, and compute with registered tensors.
struct ExportedTable {
  static ExportedModel& instance(void* self) { return *static_cast<ExportedModel*>(self); }

  static tenon_status create(const tenon_host*, const tenon_params* params, void** self) {
    return tenon::detail::guard_torch([&] { *self = new ExportedModel(tenon::Params(params)); });
  }

  static void destroy(void* self) { delete static_cast<ExportedModel*>(self); }

  static tenon_status ports(void* self, const tenon_port* const** ports, uint64_t* count) {
    instance(self).ports().hand_out(ports, count);
    return TENON_OK;
  }

  static tenon_status build(void* self, const tenon_builder* builder) {
    return tenon::detail::guard_torch([&] { instance(self).build(tenon::Builder(builder)); });
  }

  static tenon_status forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                              tenon_tensor** outputs, uint64_t output_count) {
    return tenon::detail::guard_torch([&] {
      wrap_outputs(instance(self).forward(frame, tenon::detail::unwrap_all(inputs, input_count)), frame, outputs,
                   output_count);
    });
  }

  static tenon_status tied_weights(void* self, const tenon_tied_weight** names, uint64_t* count) {
    const std::vector<tenon_tied_weight>& tied = instance(self).tied_weights();
    *names = tied.data();
    *count = tied.size();
    return TENON_OK;
  }

  static tenon_status frozen_parameters(void* self, const tenon_string** names, uint64_t* count) {
    const std::vector<tenon_string>& frozen = instance(self).frozen_parameters();
    *names = frozen.data();
    *count = frozen.size();
    return TENON_OK;
  }

  static tenon_status is_capturable(void* self, uint32_t* result) {
    *result = instance(self).is_capturable() ? 1 : 0;
    return TENON_OK;
  }

  static const void* get_extension(tenon_string id) {
    static constexpr tenon_tied_weights tied = {sizeof(tenon_tied_weights), &tied_weights};
    static constexpr tenon_frozen_parameters frozen = {sizeof(tenon_frozen_parameters), &frozen_parameters};
    static constexpr tenon_capture capture = {sizeof(tenon_capture), &is_capturable};
    const std::string name = tenon::detail::copy(id);
    if (name == TENON_TIED_WEIGHTS) return &tied;
    if (name == TENON_FROZEN_PARAMETERS) return &frozen;
    return name == TENON_CAPTURE ? &capture : nullptr;
  }
};

constexpr tenon_model kTable = {sizeof(tenon_model),   &ExportedTable::create, &ExportedTable::destroy,
                                &ExportedTable::ports, &ExportedTable::build,  &ExportedTable::forward};

tenon::Component exported_model() {
  return {TENON_MODEL,
          "exported",
          "a PyTorch model from a .pt2 archive of torch.export",
          ExportedModel::schema(),
          &kTable,
          &ExportedTable::get_extension};
}

}  // namespace

TENON_PLUGIN("exported", "0.1.0", "Apache-2.0", "PyTorch models that torch.export has described.", exported_model())
