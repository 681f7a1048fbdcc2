// A transform that a plugin provides, within a chain of transforms.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/images/transforms/host_interface.h"
#include "framework/images/transforms/transform.h"

namespace images {

class PluginTransform final : public Transform {
 public:
  // `made` belongs to the host's functions.
  PluginTransform(const PluginTransforms& host, void* made, const PluginTransformInfo& info);
  ~PluginTransform() override { host_.destroy(made_); }
  PluginTransform(const PluginTransform&) = delete;
  PluginTransform& operator=(const PluginTransform&) = delete;

  void draw(cv::Size&, tenon::Random&, Steps&) const override {}
  std::optional<cv::Size> output_size(std::optional<cv::Size> size) const override;
  const PluginTransform* plugin() const override { return this; }

  double probability() const { return probability_; }
  uint32_t moved_kinds() const { return moved_kinds_; }
  const std::string& arguments_json() const { return arguments_json_; }
  // `transform "vignette" of plugin lens 1.0.0`
  const std::string& description() const { return description_; }

  // Throws tenon::HostError.
  void apply(tenon_moving_image& image, uint64_t seed) const;

 private:
  const PluginTransforms& host_;
  void* made_;
  double probability_;
  uint32_t moved_kinds_;
  std::string arguments_json_;
  std::string description_;
};

// Sets the host's functions. Without this call, plugins provide no transforms.
void use_plugin_transforms(const PluginTransforms* host);

// The names of the transforms of plugins.
std::vector<std::string> plugin_transform_names();

// REQUIRES: it is one of plugin_transform_names(). Throws TextError for wrong arguments, and if the plugin cannot
// create it.
std::unique_ptr<PluginTransform> make_plugin_transform(const WrittenTransform& written);

}  // namespace images
