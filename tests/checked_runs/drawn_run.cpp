#include "tests/checked_runs/drawn_run.h"

#include <fstream>
#include <map>
#include <random>
#include <vector>

namespace tenon::checked_runs {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kSamples = 4;

class Draw {
 public:
  explicit Draw(uint64_t number) : random_(number) {}
  int64_t below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int64_t>(all.size())))];
  }

 private:
  std::mt19937_64 random_;
};

struct Field {
  std::string name;
  std::string dtype;  // of NumPy
  std::vector<int64_t> shape;
  int64_t limit;  // integers are in [0, limit)
};

// A loss or metric: its id, its parameters, and the name of the input that takes the prediction.
struct Compared {
  std::string use;
  std::string params;
  std::string prediction;
};

struct Run {
  std::vector<Field> fields;  // the last one is the target
  std::string model;
  std::map<std::string, std::string> params;
  std::string output = "logits";
  Compared loss;
  Compared metric;
};

const std::vector<std::string> kDtypes{"<f4", "<f8", "<f2", "|u1", "<i2", "<i4", "<i8", "|b1"};

std::vector<Compared> losses_of_classes() {
  return {{"cross_entropy", "", "logits"}, {"focal", "", "logits"}, {"dice", "", "logits"}};
}
std::vector<Compared> binary_losses() {
  return {{"bce_with_logits", "", "logits"}, {"binary_focal", "", "logits"}, {"binary_dice", "", "logits"}};
}
std::vector<Compared> regression_losses() {
  return {{"mse", "", "prediction"},
          {"l1", "", "prediction"},
          {"smooth_l1", "", "prediction"},
          {"huber", "", "prediction"}};
}
std::vector<Compared> regression_metrics() {
  return {{"mae", "", "prediction"}, {"rmse", "", "prediction"}, {"r2", "", "prediction"}};
}
std::vector<Compared> binary_metrics() {
  return {{"binary_accuracy", "", "logits"}, {"binary_precision_recall_f1", "", "logits"}};
}

std::vector<Compared> metrics_of_classes(int64_t classes) {
  const std::string count = "classes = " + std::to_string(classes);
  return {{"accuracy", "", "logits"},
          {"precision_recall_f1", count, "logits"},
          {"confusion_matrix", count, "logits"},
          {"iou", count, "logits"},
          {"dice_score", count, "logits"}};
}

// A model of images with an output [N, classes].
void draw_image_model(Draw& draw, Run& run, int64_t classes) {
  const int64_t channels = draw.between(1, 4), height = 2 * draw.between(4, 8);
  std::vector<int64_t> shape{channels, height, draw.below(2) == 0 ? height : 2 * draw.between(4, 8)};
  run.model = draw.one_of<std::string>({"mlp", "mlp", "small_cnn", "resnet", "vit", "efficientnet"});
  if (draw.below(3) > 0) run.params["classes"] = std::to_string(classes);
  if (run.model == "mlp") {
    run.params["hidden"] = draw.below(2) == 0 ? "[5]" : "[]";
    if (draw.below(2) == 0) shape = {draw.between(1, 9)};
    int64_t inputs = 1;
    for (const int64_t extent : shape) inputs *= extent;
    if (draw.below(2) == 0) run.params["inputs"] = std::to_string(inputs);
  } else if (draw.below(2) == 0) {
    run.params["channels"] = std::to_string(channels);
  }
  if (run.model == "small_cnn") run.params["width"] = "4";
  if (run.model == "resnet") run.params.insert({{"width", "4"}, {"stem", "\"cifar\""}});
  if (run.model == "efficientnet") run.params.insert({{"width", "0.1"}, {"depth", "0.1"}});
  if (run.model == "vit") {
    shape[2] = shape[1];
    run.params.insert({{"variant", "\"ti_16\""},
                       {"image_size", std::to_string(height)},
                       {"patch_size", std::to_string(height / 2)},
                       {"width", "8"},
                       {"depth", "1"},
                       {"heads", "2"},
                       {"mlp_width", "8"}});
  }
  run.fields.push_back({"image", "<f4", shape, 256});
}

Run draw_fitting_run(Draw& draw) {
  Run run;
  const int64_t classes = draw.between(2, 6);
  const int64_t length = draw.between(1, 7);
  switch (draw.below(8)) {
    case 0:
    case 1:
      draw_image_model(draw, run, classes);
      run.fields.push_back({"target", "<i8", {}, classes});
      run.params["classes"] = std::to_string(classes);
      run.loss = draw.one_of(losses_of_classes());
      run.metric = draw.one_of(metrics_of_classes(classes));
      break;
    case 2:
      draw_image_model(draw, run, classes);
      run.params["classes"] = std::to_string(classes);
      run.fields.push_back({"target", draw.one_of<std::string>({"<f4", "<i8"}), {classes}, 2});
      run.loss = draw.one_of(binary_losses());
      run.metric = draw.one_of(binary_metrics());
      break;
    case 3:
      draw_image_model(draw, run, classes);
      run.params["classes"] = std::to_string(classes);
      run.fields.push_back({"target", "<f4", {classes}, 10});
      run.loss = draw.one_of(regression_losses());
      run.metric = draw.one_of(regression_metrics());
      break;
    case 4: {
      const int64_t height = 4 * draw.between(1, 4), width = 4 * draw.between(1, 4), channels = draw.between(1, 4);
      run.model = "unet";
      run.params = {{"depth", "1"}, {"width", "4"}, {"classes", std::to_string(classes)}};
      if (draw.below(2) == 0) run.params["channels"] = std::to_string(channels);
      run.fields = {{"image", "<f4", {channels, height, width}, 256}, {"target", "<i8", {height, width}, classes}};
      run.loss = draw.one_of(losses_of_classes());
      run.metric = draw.one_of(metrics_of_classes(classes));
      break;
    }
    case 5:
      run.model = "gpt";
      run.params = {{"vocabulary_size", std::to_string(classes)},
                    {"context", std::to_string(length + draw.below(2))},
                    {"layers", "1"},
                    {"heads", "2"},
                    {"width", "8"}};
      run.fields = {{"tokens", "<i8", {length}, classes}, {"target", "<i8", {length}, classes}};
      run.loss = {"sequence_cross_entropy", "", "logits"};
      run.metric = draw.one_of<Compared>({{"perplexity", "", "logits"}, {"token_accuracy", "", "logits"}});
      break;
    case 6:
      run.model = "seq2seq_transformer";
      run.params = {{"vocabulary_size", std::to_string(classes + 4)},
                    {"width", "8"},
                    {"heads", "2"},
                    {"encoder_layers", "1"},
                    {"decoder_layers", "1"},
                    {"feed_forward", "8"}};
      run.fields = {{"source", "<i8", {draw.between(1, 7)}, classes + 4},
                    {"target_in", "<i8", {length}, classes + 4},
                    {"target", "<i8", {length}, classes + 4}};
      run.loss = {"sequence_cross_entropy", "", "logits"};
      run.metric = draw.one_of<Compared>({{"perplexity", "", "logits"}, {"token_accuracy", "", "logits"}});
      break;
    default: {
      const int64_t channels = draw.between(1, 4);
      run.model = "siamese_cnn";
      run.output = "same";
      run.params = {{"width", "4"}, {"channels", std::to_string(channels)}};
      run.fields = {{"first", "<f4", {channels, draw.between(8, 16), draw.between(8, 16)}, 256},
                    {"second", "<f4", {channels, draw.between(8, 16), draw.between(8, 16)}, 256},
                    {"target", draw.one_of<std::string>({"<f4", "<i8"}), {}, 2}};
      run.loss = draw.one_of(binary_losses());
      run.metric = draw.one_of(binary_metrics());
    }
  }
  return run;
}

void change_shape(Draw& draw, std::vector<int64_t>& shape) {
  const auto place = [&] { return shape.begin() + draw.below(static_cast<int64_t>(shape.size())); };
  switch (shape.empty() ? 0 : draw.below(4)) {
    case 0: shape.push_back(draw.between(1, 3)); break;
    case 1: shape.erase(place()); break;
    case 2: *place() += draw.between(1, 3); break;
    default: std::swap(shape.front(), shape.back());
  }
}

void change_number(Draw& draw, std::map<std::string, std::string>& params) {
  for (const char* name : {"classes", "channels", "inputs", "image_size", "context", "vocabulary_size"})
    if (const auto found = params.find(name); found != params.end() && draw.below(2) == 0) {
      const int64_t changed = std::stoll(found->second) + draw.one_of<int64_t>({-1, 1, 2});
      found->second = std::to_string(std::max<int64_t>(changed, 1));
      return;
    }
}

void make_one_change(Draw& draw, Run& run) {
  Field& field = run.fields[static_cast<size_t>(draw.below(static_cast<int64_t>(run.fields.size())))];
  switch (draw.below(5)) {
    case 0: field.dtype = draw.one_of(kDtypes); break;
    case 1: change_shape(draw, field.shape); break;
    case 2: {
      std::vector<Compared> all = losses_of_classes();
      for (const auto& more : {binary_losses(), regression_losses()}) all.insert(all.end(), more.begin(), more.end());
      all.insert(all.end(), {{"soft_cross_entropy", "", "logits"},
                             {"sequence_cross_entropy", "", "logits"},
                             {"kl_divergence", "", "prediction"}});
      run.loss = draw.one_of(all);
      break;
    }
    case 3: {
      std::vector<Compared> all = metrics_of_classes(draw.between(2, 6));
      for (const auto& more : {binary_metrics(), regression_metrics()}) all.insert(all.end(), more.begin(), more.end());
      run.metric = draw.one_of(all);
      break;
    }
    default: change_number(draw, run.params);
  }
}

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void write_array(Draw& draw, const Field& field, const fs::path& file) {
  std::string shape = std::to_string(kSamples) + ",";
  int64_t count = kSamples;
  for (const int64_t extent : field.shape) {
    shape += " " + std::to_string(extent) + ",";
    count *= extent;
  }
  std::string header = "{'descr': '" + field.dtype + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  append(bytes, static_cast<uint16_t>(header.size()));
  bytes += header;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = draw.below(field.limit);
    if (field.dtype == "<f4")
      append(bytes, static_cast<float>(number) / static_cast<float>(std::max<int64_t>(field.limit - 1, 1)));
    if (field.dtype == "<f8")
      append(bytes, static_cast<double>(number) / static_cast<double>(std::max<int64_t>(field.limit - 1, 1)));
    if (field.dtype == "<f2") append<uint16_t>(bytes, number % 2 == 0 ? 0x0000 : 0x3C00);  // 0 and 1
    if (field.dtype == "|u1") append(bytes, static_cast<uint8_t>(number));
    if (field.dtype == "|b1") append(bytes, static_cast<uint8_t>(number % 2));
    if (field.dtype == "<i2") append(bytes, static_cast<int16_t>(number));
    if (field.dtype == "<i4") append(bytes, static_cast<int32_t>(number));
    if (field.dtype == "<i8") append(bytes, number);
  }
  std::ofstream(file, std::ios::binary) << bytes;
}

std::string format_compared(const std::string& section, const Compared& compared, const std::string& output) {
  return "[[" + section + "]]\nuse = \"" + compared.use + "\"\nparams = { " + compared.params + " }\ninputs = { " +
         compared.prediction + " = \"model." + output + "\", target = \"data.target\" }\n";
}

}  // namespace

fs::path draw_run(uint64_t number, const fs::path& folder) {
  Draw draw(number);
  Run run = draw_fitting_run(draw);
  if (draw.below(2) == 0) make_one_change(draw, run);
  fs::create_directories(folder / "arrays");
  std::string inputs, params;
  for (size_t i = 0; i < run.fields.size(); ++i) {
    write_array(draw, run.fields[i], folder / "arrays" / (run.fields[i].name + ".npy"));
    if (i + 1 < run.fields.size())
      inputs += (inputs.empty() ? "" : ", ") + run.fields[i].name + " = \"data." + run.fields[i].name + "\"";
  }
  for (const auto& [name, value] : run.params) params += (params.empty() ? "" : ", ") + name + " = " + value;
  const fs::path file = folder / "run.toml";
  std::ofstream(file) << "[model]\nuse = \"" << run.model << "\"\nparams = { " << params << " }\ninputs = { " << inputs
                      << " }\n[data]\nbatch_size = 2\nworkers = 0\n[data.train]\nuse = \"arrays\"\n"
                         "params = { path = \"arrays\" }\n[data.validation]\nlike = \"train\"\n"
                      << format_compared("loss", run.loss, run.output)
                      << format_compared("metric", run.metric, run.output)
                      << "[train]\nsteps = 2\n[optimizer]\nuse = \"sgd\"\nlr = 0.01\n";
  return file;
}

}  // namespace tenon::checked_runs
