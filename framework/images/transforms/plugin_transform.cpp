#include "framework/images/transforms/plugin_transform.h"

#include <tenon/detail/guard.hpp>

namespace images {
namespace {

using tenon::detail::borrow;
using tenon::detail::check;
using tenon::detail::copy;

const PluginTransforms* plugin_transforms = nullptr;

// `put(text)` receives each text.
template <class Put>
tenon_text_sink make_sink(Put& put) {
  tenon_text_sink sink = {};
  sink.size = sizeof sink;
  sink.context = &put;
  sink.put = [](const tenon_text_sink* self, tenon_string text) {
    return tenon::detail::guard([&] { (*static_cast<Put*>(self->context))(copy(text)); });
  };
  return sink;
}

}  // namespace

PluginTransform::PluginTransform(const PluginTransforms& host, void* made, const PluginTransformInfo& info)
    : host_(host),
      made_(made),
      probability_(info.probability),
      moved_kinds_(info.moved_kinds),
      arguments_json_(copy(info.arguments)),
      description_(copy(info.description)) {}

std::optional<cv::Size> PluginTransform::output_size(std::optional<cv::Size> size) const {
  int64_t height = size ? size->height : -1;
  int64_t width = size ? size->width : -1;
  check(host_.output_size(made_, &height, &width));
  if (height < 0 || width < 0) return std::nullopt;
  return cv::Size(static_cast<int>(width), static_cast<int>(height));
}

void PluginTransform::apply(tenon_moving_image& image, uint64_t seed) const { check(host_.apply(made_, &image, seed)); }

void use_plugin_transforms(const PluginTransforms* host) { plugin_transforms = host; }

std::vector<std::string> plugin_transform_names() {
  std::vector<std::string> names;
  if (!plugin_transforms) return names;
  auto add = [&](const std::string& name) { names.push_back(name); };
  const tenon_text_sink sink = make_sink(add);
  check(plugin_transforms->list(&sink));
  return names;
}

std::unique_ptr<PluginTransform> make_plugin_transform(const WrittenTransform& written) {
  std::vector<PluginArgument> arguments;
  for (const WrittenArgument& argument : written.arguments)
    arguments.push_back({borrow(argument.name), borrow(argument.value.text)});
  std::string error;
  auto set_error = [&](const std::string& text) { error = text; };
  const tenon_text_sink sink = make_sink(set_error);
  void* made = nullptr;
  PluginTransformInfo info = {};
  const tenon_status status =
      plugin_transforms->create(borrow(written.name), arguments.data(), arguments.size(), &sink, &made, &info);
  if (status != TENON_OK) throw TextError(error);
  return std::make_unique<PluginTransform>(*plugin_transforms, made, info);
}

}  // namespace images
