// A model that torch.export has described: its graph runs through LibTorch's dispatcher, without Python.
#include <tenon/draft/memory_format.h>
#include <tenon/checkpointing.hpp>
#include <tenon/tied_weights.hpp>
#include <tenon/torch.hpp>

#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/formats/strings.h"
#include "plugins/models/exported/archive.h"
#include "plugins/models/exported/compile.h"
#include "plugins/models/exported/run.h"

namespace {

using exported::Json;
using exported::Mode;
using exported::Program;
using exported::Segment;
using exported::StoredTensor;
using exported::StoredTensors;
using exported::within;
using tenon::Port;

struct Weight {
  std::string name;
  StoredTensor stored;
};

std::string record_of(const std::string& model) { return "models/" + model + ".json"; }

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
  throw tenon::DataError(archive.path() + ": has the models " + (names.empty() ? "(none)" : formats::join(names)) +
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
            .doc("names of the outputs; empty: the keys of the dictionary that forward returns, or `output`")};
  }

  explicit ExportedModel(const tenon::Params& params) : path_(params.path("path")) {
    exported::Archive archive(path_);
    const std::vector<Graph> graphs = read_graphs(archive);
    read_weights(archive, graphs);
    ports_ = read_all_ports(archive, graphs, params.texts("outputs"));
    compile_programs(archive, graphs);
  }

  const std::vector<Port>& ports() const { return ports_; }
  // Pairs of a further name, and the name in build().
  const std::vector<std::pair<std::string, std::string>>& tied_weights() const { return tied_; }
  const std::vector<tenon_string>& frozen_parameters() const { return frozen_parameters_; }

  void build(const tenon::Builder& builder) {
    using namespace tenon::detail;
    frame_index_.clear();
    for (const Weight& weight : weights_) {
      tenon_tensor* const handle = native_torch().wrap(&weight.stored.tensor);
      try {
        frame_index_.push_back(builder.adopt(weight.name, handle, weight.stored.is_trained ? TENON_TRAINABLE : 0));
      } catch (...) {
        host->release(handle);
        throw;
      }
      host->release(handle);
    }
  }

  std::vector<at::Tensor> forward(const tenon_frame* frame, const std::vector<at::Tensor>& inputs) {
    const size_t which = frame->training ? 0 : 1;
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

  bool needs_contiguous() const {
    constexpr int64_t kDimensions = 4;  // of images, and of the weights of 2-d convolutions
    std::vector<bool> weights, inputs;
    for (const Weight& weight : weights_) weights.push_back(weight.stored.tensor.dim() == kDimensions);
    for (const Port& port : ports_)
      if (port.direction == TENON_INPUT) inputs.push_back(std::ranges::count(port.shape, ',') == kDimensions - 1);
    return std::ranges::any_of(
        programs_, [&](const Program& program) { return exported::needs_contiguous(program, weights, inputs); });
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

    static constexpr tenon_segment table = {sizeof(tenon_segment), &forward, &tenon::detail::destroy<SegmentCall>};
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
        weights_.push_back({name, tensor});
        index_.names.push_back(name);
      } else {
        tied_.emplace_back(name, weights_[found->second].name);
      }
      index_.index.emplace(name, found->second);
    }
    for (const Weight& weight : weights_)
      if (weight.stored.is_parameter && !weight.stored.is_trained)
        frozen_parameters_.push_back(tenon::detail::borrow(weight.name));
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
  std::vector<Port> ports_;
  std::vector<Weight> weights_;
  exported::Weights index_;
  std::vector<std::pair<std::string, std::string>> tied_;
  std::vector<tenon_string> frozen_parameters_;
  std::vector<uint64_t> frame_index_;  // by the index of the weight
  std::vector<Program> programs_;      // for training and evaluation
  std::vector<std::unique_ptr<exported::Constants>> constants_;
};

// That of torch_model is for modules that are known when the plugin is compiled, and compute with registered tensors.
struct ExportedInstance : tenon::detail::TorchInstance {
  using Self = ExportedInstance;

  explicit ExportedInstance(const tenon_params* params) : component(tenon::Params(params)), ports(component.ports()) {}

  void build(const tenon_builder* builder) { component.build(tenon::Builder(builder)); }

  void forward(const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count, tenon_tensor** outputs,
               uint64_t output_count) {
    wrap_outputs(component.forward(frame, tenon::detail::unwrap_all(inputs, input_count)), frame, outputs,
                 output_count);
  }

  void frozen_parameters(const tenon_string** names, uint64_t* count) const {
    *names = component.frozen_parameters().data();
    *count = component.frozen_parameters().size();
  }

  ExportedModel component;
  const tenon::detail::Table<Port> ports;
  tenon::detail::NamePairs<tenon_tied_weight> tied_weights;  // empty until they are requested

  static constexpr tenon_model table = [] {
    tenon_model made = {};  // what newer versions append is null
    made.size = sizeof made;
    made.create = &tenon::detail::create<Self>;
    made.destroy = &tenon::detail::destroy<Self>;
    made.ports = &tenon::detail::hand_out_member<Self, &Self::ports>;
    made.build = &tenon::detail::call_member<Self, &Self::build>;
    made.forward = &tenon::detail::call_member<Self, &Self::forward>;
    return made;
  }();
};

struct MemoryFormatExtension {
  static constexpr bool is_provided = true;
  static constexpr std::string_view id = TENON_MEMORY_FORMAT;

  static tenon_status needs_contiguous(void* self, uint32_t* result) {
    *result = static_cast<ExportedInstance*>(self)->component.needs_contiguous() ? 1 : 0;
    return TENON_OK;
  }

  static constexpr tenon_memory_format table = {sizeof(tenon_memory_format), &needs_contiguous};
};

tenon::Component exported_model() {
  using namespace tenon::detail;
  return describe_component<ExportedModel>(
      TENON_MODEL, "exported", "a PyTorch model from a .pt2 archive of torch.export", &ExportedInstance::table,
      Extensions<CaptureExtension<ExportedModel, ExportedInstance>, FrozenParametersExtension<ExportedInstance>,
                 MemoryFormatExtension, TiedWeightsExtension<ExportedModel, ExportedInstance>>::function());
}

}  // namespace

TENON_PLUGIN("exported", "0.1.0", "Apache-2.0", "PyTorch models that torch.export has described.", exported_model())
