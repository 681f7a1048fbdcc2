#include "host/init/image_folders.h"

#include <strings.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "framework/components/calls/host_table.h"
#include "framework/components/kinds/dataset.h"
#include "framework/components/loading/catalogue.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/data/plugin_samples.h"
#include "framework/formats/nearest_name.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/installation.h"
#include "framework/support/text/format_values.h"
#include "host/process/call_reports.h"
#include "host/process/process_setup.h"

namespace tenon::host {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorKind;

namespace {

constexpr const char* kDataset = "image_folder";
constexpr int64_t kMeasuredImages = 32;

[[noreturn]] void refuse(const fs::path& folder, const std::string& what) {
  throw Error(ErrorKind::data, support::format_path(folder) + ": " + what);
}

std::string describe_layout(const fs::path& folder) {
  return "a folder for each class, such as " + (folder / "cat" / "1.jpg").string() + " and " +
         (folder / "dog" / "1.jpg").string();
}

bool has_folder(const fs::path& folder) {
  return std::ranges::any_of(support::list_folder(folder, ErrorKind::data), support::is_folder);
}

// Returns the first of these folders that exists, in upper or lower case, or an empty path.
fs::path find_folder(const fs::path& parent, const std::vector<const char*>& names) {
  if (!support::is_folder(parent)) return {};
  const std::vector<fs::path> entries = support::list_folder(parent, ErrorKind::data);
  for (const char* name : names)
    for (const fs::path& entry : entries)
      if (strcasecmp(entry.filename().c_str(), name) == 0 && support::is_folder(entry)) return entry;
  return {};
}

// Opens datasets of image folders. The plugin stays loaded.
class ImageFolderPlugin {
 public:
  explicit ImageFolderPlugin(const std::vector<fs::path>& plugin_directories) : catalogue_(open(plugin_directories)) {}

  components::Dataset open_dataset(const config::Values& params) const {
    const components::Component& component = catalogue_.find(config::ComponentKind::dataset, kDataset);
    config::NamedDataset plan;
    plan.use = kDataset;
    plan.name = "train";
    plan.place = "command line";
    for (const config::ParamSchema& param : component.schema.params)
      if (param.default_value) plan.params[param.name] = *param.default_value;
    plan.params["transforms"] = std::vector<std::string>{};  // images keep their size
    for (const auto& [name, value] : params) plan.params[name] = value;
    components::Dataset dataset(component, plan);
    const bool is_labelled = params.count("unlabelled") == 0;
    if (!dataset.names_samples() || (is_labelled && dataset.classes().empty()))
      throw Error(ErrorKind::plugin,
                  "{}: does not name its images and classes; expected the bundled plugin: remove the other one from "
                  "the plugin folders",
                  component.describe());
    return dataset;
  }

 private:
  static components::Catalogue open(const std::vector<fs::path>& plugin_directories) {
    start_call_reports();
    components::install_libtorch();
    components::Catalogue catalogue = components::Catalogue::look(
        components::find_plugin_directories(plugin_directories, {}, support::find_installation()),
        components::host_table(), components::torch_build());
    if (!catalogue.find_schema(config::ComponentKind::dataset, kDataset))
      throw Error(ErrorKind::plugin, "there is no dataset \"{}\" ({}); expected the bundled plugins", kDataset,
                  catalogue.describe_search());
    catalogue.open_plugins_of({{config::ComponentKind::dataset, kDataset}});
    restore_standard_streams();
    return catalogue;
  }

  components::Catalogue catalogue_;
};

// A folder as image_folder lists it. The name of an image begins with its class.
std::vector<ClassCount> count_classes(const components::Dataset& dataset) {
  std::vector<ClassCount> counts;
  std::map<std::string, size_t> places;
  for (const std::string& name : dataset.classes().front().names) {
    places[name] = counts.size();
    counts.push_back({name, 0});
  }
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const std::string name = dataset.name_sample(i);
    if (const auto place = places.find(name.substr(0, name.find('/'))); place != places.end())
      ++counts[place->second].images;
  }
  return counts;
}

// Throws what fits the folder better than `error`, with which it was refused.
[[noreturn]] void explain(const ImageFolderPlugin& plugin, const fs::path& folder, const Error& error) {
  const components::Dataset images = [&] {
    try {
      return plugin.open_dataset(
          {{"path", folder.string()}, {"unlabelled", std::vector<std::string>{folder.string()}}});
    } catch (const Error& none) {
      throw Error(none.kind(), std::string(none.what()) + ", in " + describe_layout(folder));
    }
  }();
  for (int64_t i = 0; i < images.size(); ++i)
    if (images.name_sample(i).find('/') != std::string::npos) throw error;
  refuse(folder, support::format_count(images.size(), "image is", "images are") + " directly in it; expected " +
                     describe_layout(folder) + ": move each image to the folder of its class");
}

components::Dataset open_folder(const ImageFolderPlugin& plugin, const fs::path& folder) {
  try {
    return plugin.open_dataset({{"path", folder.string()}});
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::data) explain(plugin, folder, error);
    throw;
  }
}

void require_two_classes(const fs::path& folder, const std::vector<ClassCount>& classes) {
  if (classes.size() > 1) return;
  const fs::path only = folder / classes.front().name;
  const bool is_nested = support::is_folder(only) && has_folder(only);
  refuse(folder, "has one class folder, " + classes.front().name + "; expected " + describe_layout(folder) +
                     (is_nested ? formats::did_you_mean(only.string()) : ""));
}

// Counts the images of a folder for validation or test.
std::vector<ClassCount> count_known_classes(const ImageFolderPlugin& plugin, const fs::path& folder,
                                            const ImageData& data) {
  const std::vector<ClassCount> counts = count_classes(open_folder(plugin, folder));
  for (const ClassCount& each : counts)
    if (std::ranges::find(data.train, each.name, &ClassCount::name) == data.train.end())
      refuse(folder / each.name, "is no class of the training data; expected a folder " +
                                     (data.folders.train / each.name).string() + ": add it, or remove this one");
  return counts;
}

// The number of images of each class in the part for validation.
std::vector<ClassCount> count_part(const ImageFolderPlugin& plugin, const fs::path& folder, double fraction) {
  try {
    return count_classes(plugin.open_dataset(
        {{"path", folder.string()}, {"split", std::string("validation")}, {"validation_fraction", fraction}}));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return {};  // none of the images
  }
}

// Divides the images of a folder. A class with few images may have none in a small part, so the part grows until it has
// all classes, or at most to a half. The rest, for training, must have all classes.
void divide(const ImageFolderPlugin& plugin, ImageData& data) {
  const std::vector<ClassCount> all = data.train;
  for (const double fraction : {0.1, 0.2, 0.3, 0.4, 0.5}) {
    const std::vector<ClassCount> part = count_part(plugin, data.folders.train, fraction);
    if (part.empty()) continue;
    std::vector<ClassCount> rest = all;
    for (size_t i = 0; i < all.size(); ++i) rest[i].images -= part[i].images;
    const auto is_missing = [](const ClassCount& each) { return each.images == 0; };
    if (std::ranges::any_of(rest, is_missing)) break;  // a larger part has these images too
    const bool has_all_classes = std::ranges::none_of(part, is_missing);
    if (data.validation_fraction > 0 && !has_all_classes) continue;
    data.validation_fraction = fraction;
    data.validation = part;
    data.train = rest;
    if (has_all_classes) return;
  }
  if (data.validation_fraction > 0) return;
  const ClassCount& smallest = *std::ranges::min_element(all, {}, &ClassCount::images);
  refuse(data.folders.train,
         fmt::format("has {}, {} of them in the class {}; expected enough for training and validation: add images, ten "
                     "or more to a class",
                     support::format_count(count_images(all), "image"), smallest.images, smallest.name));
}

// Decodes images from all parts of the dataset. `unreadable`: becomes the message about those that cannot be read.
// Throws the error of the first one if none can be.
int64_t measure_shorter_side(const components::Dataset& dataset, std::string& unreadable) {
  data::PluginSamples samples(dataset);
  const auto worker = samples.open_worker(0, 0);
  std::vector<components::VaryingSample> varying(dataset.fields().size());
  std::vector<std::vector<std::byte>> fixed(dataset.fields().size());
  std::vector<components::SampleSlot> slots(dataset.fields().size());
  std::optional<size_t> image;
  for (size_t k = 0; k < slots.size(); ++k) {
    const components::SampleField& field = dataset.fields()[k];
    fixed[k].resize(field.sample_bytes);
    if (field.is_varying()) {
      slots[k].varying = &varying[k];
      image = k;
    } else {
      slots[k].fixed = fixed[k].data();
    }
  }
  std::vector<int64_t> sides;
  const int64_t measured = image ? std::min(dataset.size(), kMeasuredImages) : 0;
  std::optional<Error> first;
  int64_t failed = 0;
  for (int64_t i = 0; i < measured; ++i) {
    try {
      worker->get({i * dataset.size() / measured, 0, 0}, slots);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      if (failed++ == 0) first = error;
      continue;
    }
    const auto shape = varying[*image].shape();  // [height, width, 3]
    sides.push_back(std::min(shape[0], shape[1]));
  }
  if (sides.empty() && first) throw Error(*first);
  if (sides.empty()) return 0;
  if (first)
    unreadable = fmt::format("{} of {} examined images cannot be read, first {}", failed, measured, first->what());
  const auto middle = static_cast<std::ptrdiff_t>(sides.size() / 2);
  std::ranges::nth_element(sides, sides.begin() + middle);
  return sides[sides.size() / 2];
}

// Returns `folder` itself, or its folders such as train and val if it has these.
ImageFolders find_image_folders(const fs::path& folder) {
  const fs::path train = find_folder(folder, {"train", "training"});
  const fs::path validation = find_folder(folder, {"val", "valid", "validation"});
  const fs::path test = find_folder(folder, {"test", "testing"});
  // Without the others, a folder of this name may also be a class.
  const bool is_divided = !train.empty() && (!validation.empty() || !test.empty() || has_folder(train));
  return is_divided ? ImageFolders{train, validation, test} : ImageFolders{folder};
}

}  // namespace

int64_t count_images(const std::vector<ClassCount>& classes) {
  return std::accumulate(classes.begin(), classes.end(), int64_t{0},
                         [](int64_t sum, const ClassCount& each) { return sum + each.images; });
}

ImageData read_image_data(const fs::path& folder, const std::vector<fs::path>& plugin_directories) {
  const ImageFolderPlugin plugin(plugin_directories);
  ImageData data{.folders = find_image_folders(folder), .train = {}, .validation = {}};
  const components::Dataset train = open_folder(plugin, data.folders.train);
  data.train = count_classes(train);
  require_two_classes(data.folders.train, data.train);
  data.shorter_side = measure_shorter_side(train, data.unreadable);
  if (data.folders.validation.empty())
    divide(plugin, data);
  else
    data.validation = count_known_classes(plugin, data.folders.validation, data);
  if (!data.folders.test.empty()) data.test = count_known_classes(plugin, data.folders.test, data);
  return data;
}

}  // namespace tenon::host
