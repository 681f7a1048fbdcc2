// Everything for a plugin in C++17 or later: header-only, over the C ABI alone, without LibTorch. A complete plugin:
//
//   #include <tenon/plugin.hpp>
//
//   class Spiral final {
//    public:
//     static std::vector<tenon::Param> schema() {
//       return {tenon::param("samples", 1000).range("[1, inf)").doc("number of points")};
//     }
//     explicit Spiral(const tenon::Params& params) : samples_(params.integer("samples")) {}
//     std::vector<tenon::Field> fields() const {
//       return {{"point", TENON_FLOAT32, {2}, "x and y"}, {"label", TENON_INT64, {}, "arm"}};
//     }
//     int64_t size() const { return samples_; }
//     void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
//       tenon::Random random(sample.seed);
//       const double turn = random.uniform(0, 3);
//       const int64_t arm = sample.index % 2;
//       float* point = sink.slot<float>("point");
//       point[0] = static_cast<float>(turn * std::cos(turn + 3.14159265 * arm));
//       point[1] = static_cast<float>(turn * std::sin(turn + 3.14159265 * arm));
//       sink.put<int64_t>("label", arm);
//     }
//
//    private:
//     int64_t samples_;
//   };
//
//   TENON_PLUGIN("spiral", "0.1.0", "MIT", "Two spirals, for trying things out.",
//                tenon::dataset<Spiral>("spiral", "points of two spirals"))
#pragma once

#include "callback.hpp"
#include "dataset.hpp"
#include "detail/open_plugin.hpp"
#include "device_stream.hpp"
#include "gradient.hpp"
#include "layers.hpp"
#include "log.hpp"
#include "loss.hpp"
#include "metric.hpp"
#include "model.hpp"
#include "ops.hpp"
#include "random.hpp"
#include "run_metrics.hpp"
#include "run_tensors.hpp"
#include "run_values.hpp"

// Defines the entry point of the plugin. Arguments: id, version, SPDX licence, one line of doc, the components, and
// tenon::operators({...}) if the plugin calls operators by name. Use it once per plugin.
#define TENON_PLUGIN(id, version, license, doc, ...)                                                     \
  extern "C" TENON_EXPORT tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) { \
    return ::tenon::detail::open_plugin(offer, reply, [] {                                               \
      return new ::tenon::detail::Description({id, version, license, doc, TENON_PLUGIN_TORCH_BUILD},     \
                                              ::tenon::detail::Contents(__VA_ARGS__));                   \
    });                                                                                                  \
  }

// The build system defines TENON_TORCH_BUILD only for plugins that link LibTorch.
#ifdef TENON_TORCH_BUILD
#define TENON_PLUGIN_TORCH_BUILD TENON_TORCH_BUILD
#else
#define TENON_PLUGIN_TORCH_BUILD ""
#endif
