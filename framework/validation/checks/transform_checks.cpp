#include <algorithm>
#include <array>
#include <barrier>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/draft/transforms.h>
#include <tenon/draft/images.hpp>
#include <tenon/random.hpp>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/plugin_transforms.h"
#include "framework/support/compute/philox.h"
#include "framework/validation/checks/checks.h"
#include "framework/validation/session/child_process.h"

namespace tenon::validation {

namespace {

using draft::ImageTarget;

// A binary PPM file (Netpbm) in memory, of pixels with gradients and noise.
class DrawnImage final : public draft::EmbeddedImage {
 public:
  DrawnImage(int64_t height, int64_t width) : EmbeddedImage("image"), height_(height), width_(width) {
    file_ = fmt::format("P6 {} {} 255\n", width, height);
    Random random(static_cast<uint64_t>(height * 4096 + width));
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        for (const int64_t level : {255 * x / width, 255 * y / height, random.integer(256)})
          file_ += static_cast<char>(level);
  }

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

  uint64_t byte_count() const override { return file_.size(); }
  void read(uint8_t* bytes) const override { std::ranges::copy(file_, bytes); }
  std::string identity() const override { return file_; }

 private:
  std::string file_;
  int64_t height_;
  int64_t width_;
};

// What a transform made of an image and its targets.
struct Transformed {
  std::vector<int64_t> shape;
  std::vector<uint8_t> pixels;
  std::vector<std::vector<int64_t>> target_shapes;
  std::vector<std::vector<float>> rows;  // of each target but the mask
  std::vector<uint8_t> mask;

  bool operator==(const Transformed&) const = default;
};

// The memory of a field that is an image.
struct Memory {
  Memory() : fields({{"image", TENON_UINT8, {-1, -1, 3}}}) {
    sink.size = sizeof sink;
    sink.context = this;
    sink.slot = [](const tenon_sink* self, uint64_t, const int64_t* shape, uint32_t ndim, void** memory) {
      auto& into = *static_cast<Memory*>(self->context);
      into.shape.assign(shape, shape + ndim);
      into.pixels.resize(static_cast<size_t>(shape[0] * shape[1] * shape[2]));
      *memory = into.pixels.data();
      return tenon_status{TENON_OK};
    };
  }

  detail::Table<Field> fields;
  tenon_sink sink = {};
  std::vector<int64_t> shape;
  std::vector<uint8_t> pixels;
};

bool has_kind(uint32_t kinds, uint32_t kind) { return (kinds & TENON_MOVES(kind)) != 0; }

// A target of each kind that the transform moves. One that moves no pixels leaves targets of all kinds as they are.
struct Targets {
  Targets(uint32_t kinds, const DrawnImage& image) {
    const auto height = static_cast<float>(image.height()), width = static_cast<float>(image.width());
    mask_pixels.resize(static_cast<size_t>(image.height() * image.width()));
    for (size_t i = 0; i < mask_pixels.size(); ++i) mask_pixels[i] = static_cast<uint8_t>(i % 7);
    if (has_kind(kinds, TENON_IMAGE_MASK))
      all.push_back(ImageTarget::mask(mask_pixels.data(), TENON_UINT8, image.height(), image.width(), 255));
    if (has_kind(kinds, TENON_IMAGE_BOXES))
      all.push_back(ImageTarget::boxes({0, 0, width / 2, height / 2, width / 4, height / 4, width, height}));
    if (has_kind(kinds, TENON_IMAGE_ROTATED_BOXES))
      all.push_back(ImageTarget::rotated_boxes({width / 2, height / 2, width / 2, height / 4, 0}));
    if (has_kind(kinds, TENON_IMAGE_KEYPOINTS))
      all.push_back(ImageTarget::keypoints({width / 4, height / 4, 1, width / 2, height / 2, 1}, 2, 3, {{0, 1}}));
    if (has_kind(kinds, TENON_IMAGE_POLYGONS))
      all.push_back(ImageTarget::polygons({0, 0, width / 2, 0, width / 2, height / 2}, {3}));
  }

  std::vector<uint8_t> mask_pixels;
  std::vector<ImageTarget> all;
};

size_t count_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
  return count;
}

// Calls the image library. Throws Failed with the text of its error.
template <class Body>
auto guard(const Body& body) {
  try {
    return body();
  } catch (const HostError&) {
    throw Failed(components::detail::failure);
  } catch (const Error& error) {
    throw Failed(error.what());
  }
}

// A list with the transform alone.
class Transforms {
 public:
  explicit Transforms(const Session& session) : session_(session) {
    detail::host = &components::host_table();
    const config::Values values = {{"transforms", std::vector<std::string>{entry_of(session)}}};
    const tenon_params params(values);
    pipeline_ = guard([&] { return std::make_unique<draft::ImagePipeline>(Params(&params), "transforms"); });
    moved_kinds_ = static_cast<const tenon_transform*>(session.component().table)->moved_kinds;
  }

  uint32_t moved_kinds() const { return moved_kinds_; }
  // Those that it moves, or if it moves no pixels all of them.
  uint32_t given_kinds() const { return moved_kinds_ == 0 ? TENON_MOVES_ALL : moved_kinds_; }

  draft::ImageWorker open_worker() const { return pipeline_->open_worker(); }

  // None if the image cannot be transformed, such as one that is smaller than a crop. Throws Failed.
  std::optional<Transformed> apply(draft::ImageWorker& worker, const DrawnImage& image, uint64_t seed) const {
    Memory memory;
    Targets targets(given_kinds(), image);
    std::vector<ImageTarget*> pointers;
    for (ImageTarget& target : targets.all) pointers.push_back(&target);
    const bool is_possible = guard([&] {
      try {
        worker.write(image, seed, Sink(&memory.sink, &memory.fields), "image", pointers);
      } catch (const HostError& error) {
        if (error.status() != TENON_BAD_DATA) throw;
        return false;
      }
      return true;
    });
    if (!is_possible) return std::nullopt;
    Transformed result = {memory.shape, memory.pixels, {}, {}, {}};
    for (const ImageTarget& target : targets.all) {
      const std::vector<int64_t>& shape = target.shape();
      result.target_shapes.push_back(shape);
      if (&target == &targets.all.front() && has_kind(given_kinds(), TENON_IMAGE_MASK))
        result.mask.assign(target.values<uint8_t>(), target.values<uint8_t>() + count_of(shape));
      else
        result.rows.emplace_back(target.values<float>(), target.values<float>() + count_of(shape));
    }
    return result;
  }

 private:
  // The component with the arguments of the plan that are not defaults.
  static std::string entry_of(const Session& session) {
    std::string arguments;
    for (const config::ParamSchema& param : session.component().schema.params) {
      const config::Value& value = session.plan().params.at(param.name);
      if (param.default_value == value) continue;
      arguments +=
          (arguments.empty() ? "" : ", ") + param.name + "=" + components::to_argument_syntax(config::to_toml(value));
    }
    return session.component().schema.id + "(" + arguments + ")";
  }

  const Session& session_;
  std::unique_ptr<draft::ImagePipeline> pipeline_;
  uint32_t moved_kinds_ = 0;
};

constexpr uint64_t kSeeds = 8;

const std::vector<DrawnImage>& drawn_images() {
  static const std::vector<DrawnImage> images = [] {
    std::vector<DrawnImage> drawn;
    for (const auto& [height, width] : {std::pair(48, 64), {64, 48}, {31, 17}, {1, 1}})
      drawn.emplace_back(height, width);
    return drawn;
  }();
  return images;
}

std::string describe_call(const DrawnImage& image, uint64_t seed) {
  return fmt::format("an image of {} x {} pixels (height x width) with the seed {}", image.height(), image.width(),
                     seed);
}

// Calls `use` with each result. Throws Failed if no image can be transformed.
template <class Use>
void apply_all(Session& session, const Use& use) {
  const Transforms transforms(session);
  draft::ImageWorker worker = transforms.open_worker();
  size_t applied = 0;
  for (const DrawnImage& image : drawn_images())
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const std::optional<Transformed> result = transforms.apply(worker, image, seed);
      if (!result) continue;
      ++applied;
      use(transforms, worker, image, seed, *result);
    }
  if (applied == 0)
    throw Failed(
        "apply refuses all images from 1 x 1 to 64 x 48 pixels: {}; expected parameters with which some can be "
        "transformed: set them with --params",
        components::detail::failure);
}

void check_apply(Session& session) {
  apply_all(session, [](const auto&...) {});
}

// A transform that moves no pixels must leave targets alone, because the image fits them no more.
void check_keeps_targets(Session& session) {
  if (Transforms(session).moved_kinds() != 0) throw Skipped("it moves pixels");
  apply_all(session, [](const Transforms&, draft::ImageWorker&, const DrawnImage& image, uint64_t seed,
                        const Transformed& result) {
    const Targets given(TENON_MOVES_ALL, image);
    bool is_kept = result.mask == given.mask_pixels;
    for (size_t i = 1; i < given.all.size(); ++i) {
      const tenon_image_target described = given.all[i].describe();
      const auto* const values = static_cast<const float*>(described.values);
      const std::vector<float>& rows = result.rows[i - 1];
      is_kept = is_kept && rows == std::vector<float>(values, values + rows.size());
    }
    if (!is_kept)
      throw Failed(
          "apply changes the targets of {}, and moved_kinds is 0; expected moved_kinds with the kinds of "
          "targets that it moves",
          describe_call(image, seed));
  });
}

void check_transform_repeats(Session& session) {
  apply_all(session, [](const Transforms& transforms, draft::ImageWorker& worker, const DrawnImage& image,
                        uint64_t seed, const Transformed& result) {
    if (transforms.apply(worker, image, seed) != result)
      throw Failed(
          "apply returns other bytes for {} the second time; expected them to depend only on the image, its "
          "targets and the seed",
          describe_call(image, seed));
  });
}

void check_transform_threads(Session& session) {
  constexpr size_t kThreads = 4;
  const Transforms transforms(session);
  const DrawnImage& image = drawn_images().front();
  std::vector<std::optional<Transformed>> expected;
  {
    draft::ImageWorker worker = transforms.open_worker();
    for (uint64_t seed = 0; seed < kSeeds; ++seed) expected.push_back(transforms.apply(worker, image, seed));
  }
  std::vector<draft::ImageWorker> workers;
  for (size_t thread = 0; thread < kThreads; ++thread) workers.push_back(transforms.open_worker());
  std::array<std::string, kThreads> differences;
  std::barrier<> start(kThreads);
  record_call("apply", "on four threads at once");
  std::vector<std::jthread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      try {
        start.arrive_and_wait();
        for (size_t i = 0; i < 8 * kSeeds; ++i) {
          const size_t seed = (i + thread) % kSeeds;
          if (transforms.apply(workers[thread], image, seed) != expected[seed] && differences[thread].empty())
            differences[thread] = "apply returns other bytes for " + describe_call(image, seed) +
                                  " while other threads call it; expected the same as on one thread";
        }
      } catch (const std::exception& error) {
        differences[thread] = error.what();
      }
    });
  threads.clear();
  for (const std::string& difference : differences)
    if (!difference.empty()) throw Failed(difference);
}

}  // namespace

void use_transform(Session& session) { check_apply(session); }

std::vector<Check> transform_checks() {
  return {{"apply", Level::contract, {"create"}, check_apply},
          {"keeps-targets", Level::contract, {"apply"}, check_keeps_targets},
          {"repeats", Level::training, {"apply"}, check_transform_repeats},
          {"threads", Level::training, {"repeats"}, check_transform_threads}};
}

}  // namespace tenon::validation
