#include "framework/components/kinds/model.h"

#include <algorithm>
#include <string>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/text/format.h"

namespace tenon::components {

namespace {

constexpr const char* kDescribe = "decoding.describe";

// Returns the index of the port that the description names.
size_t find_port(const Component& component, const std::vector<Port>& ports, const std::string& name, const char* kind,
                 size_t ndim) {
  const auto port = std::ranges::find(ports, name, &Port::name);
  if (port == ports.end())
    throw_plugin_error(component, kDescribe, "names \"{}\", which is no {}; expected the name of one", name, kind);
  if (port->shape.any || port->shape.open_ended || port->shape.extents.size() != ndim)
    throw_plugin_error(component, kDescribe, "names the {} {}; expected a shape of {} dimensions", kind,
                       port->describe(), ndim);
  return static_cast<size_t>(port - ports.begin());
}

}  // namespace

Decoding read_decoding(const Component& component, const tenon_decoding_info& info, const PortList& ports) {
  constexpr uint64_t kMaxCache = 1 << 20;
  if (info.size < TENON_SIZE_TO(tenon_decoding_info, context))
    throw_plugin_error(component, kDescribe, "returns a struct of {} bytes; expected sizeof(tenon_decoding_info)",
                       info.size);
  if (info.cache_count < 1 || info.cache_count > kMaxCache || info.context < 0)
    throw_plugin_error(
        component, kDescribe,
        "returns a cache of {} tensors and a context of {}; expected at least 1 tensor, and a context of 0 or more",
        info.cache_count, info.context);
  Decoding decoding = {find_port(component, ports.inputs, to_string(info.tokens), "input", 2),
                       find_port(component, ports.outputs, to_string(info.scores), "output", 3), info.cache_count,
                       info.context};
  decoding.vocabulary = ports.outputs[decoding.scores].shape.extents[2].size.value_or(0);
  return decoding;
}

void Model::read_decoding() {
  const auto* const extension = instance_.extension<tenon_decoding>(TENON_DECODING);
  if (!extension || !extension->describe || !extension->forward) return;
  const tenon_decoding_info* info = nullptr;
  instance_.call([&](const tenon_model&) { return extension->describe(instance_.self(), &info); }, "decoding.describe");
  const ResultScope scope(component(), "decoding.describe, reading its result");
  if (!info) throw_plugin_error(component(), kDescribe, "returns null; expected a description");
  decoding_ = components::read_decoding(component(), *info, ports_);
  decode_ = extension->forward;
}

Decoded Model::decode(const StepContext& context, const std::vector<at::Tensor>& inputs,
                      const std::vector<at::Tensor>& cache) const {
  TENON_CHECK(decoding_, "the model has no decoding");
  Frame frame(context, handles_);
  frame.set_buffers(buffers_);
  const std::vector<tenon_tensor*> input_handles = to_handles(inputs);
  const std::vector<tenon_tensor*> cache_handles = to_handles(cache);
  std::vector<tenon_tensor*> next(decoding_->cache_count, nullptr);
  tenon_tensor* scores = nullptr;
  instance_.call(
      [&](const tenon_model&) {
        return decode_(instance_.self(), frame.get(), input_handles.data(), input_handles.size(),
                       cache.empty() ? nullptr : cache_handles.data(), next.data(), next.size(), &scores);
      },
      "decoding.forward", context.at());
  const auto refuse = [&](const std::string& what) { throw_plugin_error(component(), "decoding.forward", what); };
  const int64_t rows = inputs[decoding_->tokens].size(0);
  if (!scores) refuse("returned no scores (null)");
  Decoded decoded = {to_tensor(scores), {}};
  if (decoded.scores.dim() != 2 || decoded.scores.size(0) != rows || !decoded.scores.is_floating_point() ||
      (decoding_->vocabulary > 0 && decoded.scores.size(1) != decoding_->vocabulary))
    refuse(fmt::format("returned scores as {}; expected [{}, {}], of the token after the last one",
                       describe(decoded.scores), rows,
                       decoding_->vocabulary > 0 ? std::to_string(decoding_->vocabulary) : "V"));
  for (size_t i = 0; i < next.size(); ++i) {
    if (!next[i]) refuse(fmt::format("returned no tensor {} of the cache (null)", i));
    const at::Tensor& tensor = decoded.cache.emplace_back(to_tensor(next[i]));
    if (tensor.dim() == 0 || tensor.size(0) != rows)
      refuse(fmt::format("returned tensor {} of the cache as {}; expected dimension 0 to be the batch, {}", i,
                         describe(tensor), rows));
  }
  return decoded;
}

}  // namespace tenon::components
