// Transforms of images that plugins provide. The image library calls them through this host, see
// framework/images/transforms/host_interface.h.
#pragma once

#include <string>
#include <vector>

#include <tenon/draft/transforms.h>

#include "framework/components/calls/component.h"
#include "framework/config/toml/value.h"
#include "framework/images/transforms/host_interface.h"

namespace tenon::components {

// An argument as written in the run file: `strength=0.5`, or `0.5` by position.
struct WrittenArgument {
  std::string name;  // empty: by position
  std::string text;
};

// One entry of a list of transforms.
class Transform {
 public:
  // Throws Error(configuration) for arguments that the schema does not allow, and Error as call_plugin does.
  Transform(const Component& component, const std::vector<WrittenArgument>& arguments);
  ~Transform();
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  double probability() const { return probability_; }
  // Members of a JSON object, in the order of the schema: `"strength": 0.5, "p": 0.3`.
  const std::string& arguments_json() const { return arguments_json_; }
  uint32_t moved_kinds() const { return table_.moved_kinds; }

  // Replaces the size of an image by that of the result; -1: not known, or differs. Throws Error as call_plugin does,
  // or for a result that is no size.
  void find_output_size(int64_t& height, int64_t& width) const;
  // May be called by several threads. Throws Error as call_plugin does.
  void apply(tenon_moving_image& image, uint64_t seed) const;

 private:
  config::Values resolve(const std::vector<WrittenArgument>& arguments);

  const Component& component_;
  const tenon_transform& table_;
  double probability_ = 1;
  std::string arguments_json_;
  void* self_ = nullptr;
};

// Returns values in TOML as the arguments of a transform are written: `(1, 2)` for `[1, 2]`, and texts in single
// quotes.
std::string to_argument_syntax(std::string toml);

// Makes a transform available to the image library from now on. The component is copied; a later one with the same id
// takes its place.
void offer_transform(const Component& component);

// Adds the names of the transforms of all plugins that were found, for messages.
void add_transform_names(const std::vector<std::string>& names);

// The host's side of the image library.
const images::PluginTransforms& plugin_transforms();

}  // namespace tenon::components
