#include "framework/reporting/report/saved_samples.h"

#include <tenon/draft/field_details.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "framework/artifacts/files/durable_file.h"
#include "framework/formats/unicode.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/pipeline/tools/export_metadata.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"

namespace tenon::reporting {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr int64_t kMaxSide = 256;  // maximum side of a picture in pixels
constexpr const char* kFile = "samples.json";

std::string name_picture(const char* group, size_t place, const std::string& field) {
  return fmt::format("{}-{}-{}.png", group, place + 1, make_file_name(field));
}

// Names of another number of classes than the output has are left out.
artifacts::Confusion to_confusion(const at::Tensor& counts, const std::vector<std::string>& names) {
  artifacts::Confusion confusion{counts.size(0), {}};
  if (static_cast<int64_t>(names.size()) == confusion.classes) confusion.names = names;
  const int64_t* const cells = counts.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < counts.numel(); ++i)
    if (cells[i] > 0) confusion.cells.push_back({i / confusion.classes, i % confusion.classes, cells[i]});
  return confusion;
}

// The predictions of a field have its classes, see pipeline::ScoredSample.
config::ClassNames with_predictions(const config::ClassNames& names) {
  config::ClassNames all = names;
  for (const auto& [field, classes] : names) all.emplace("predicted " + field, classes);
  return all;
}

Json to_json(const char* group, const std::vector<SavedSample>& samples) {
  Json list = Json::array();
  for (size_t i = 0; i < samples.size(); ++i) {
    Json pictures = Json::array();
    for (const artifacts::RenderedPicture& picture : samples[i].drawn.pictures)
      pictures.push_back({{"field", picture.name},
                          {"file", name_picture(group, i, picture.name)},
                          {"height", picture.height},
                          {"width", picture.width}});
    Json values = Json::object();
    for (const auto& [name, text] : samples[i].drawn.values) values[name] = text;
    list.push_back(
        {{"index", samples[i].index}, {"loss", samples[i].loss}, {"pictures", pictures}, {"values", values}});
  }
  return list;
}

Json to_json(const SavedConfusion& confusion) {
  Json cells = Json::array();
  for (const artifacts::Confusion::Cell& cell : confusion.counts.cells)
    cells.push_back({cell.target, cell.predicted, cell.count});
  Json json{{"output", confusion.output},
            {"target", confusion.target},
            {"per_sample", confusion.is_per_sample},
            {"classes", confusion.counts.classes},
            {"counts", cells}};
  if (!confusion.counts.names.empty()) json["names"] = confusion.counts.names;
  return json;
}

Json to_json(const SavedNumbers& numbers) {
  Json columns = Json::array();
  for (const auto& column : numbers.columns) {
    Json pairs = Json::array();
    for (const auto& [target, predicted] : column) pairs.push_back({target, predicted});
    columns.push_back(std::move(pairs));
  }
  return {{"output", numbers.output}, {"target", numbers.target}, {"values", std::move(columns)}};
}

// A prediction that is not finite is null in JSON.
SavedNumbers read_numbers(const Json& json) {
  const auto read = [](const Json& number) {
    return number.is_null() ? std::numeric_limits<double>::quiet_NaN() : number.get<double>();
  };
  SavedNumbers numbers{json.at("output"), json.at("target"), {}};
  for (const Json& column : json.at("values")) {
    auto& pairs = numbers.columns.emplace_back();
    for (const Json& pair : column) pairs.emplace_back(read(pair.at(0)), read(pair.at(1)));
  }
  return numbers;
}

SavedNumbers to_saved(const pipeline::PredictedNumbers& predicted) {
  SavedNumbers numbers{predicted.output, predicted.target, {}};
  const at::Tensor values = predicted.values.contiguous();
  const auto* const elements = values.const_data_ptr<double>();
  const int64_t samples = values.size(0), count = values.size(1);
  numbers.columns.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < samples * count; ++i)
    numbers.columns[static_cast<size_t>(i % count)].emplace_back(elements[2 * i], elements[2 * i + 1]);
  return numbers;
}

// Cuts a long text at a letter.
std::string shorten(const std::string& text) {
  constexpr size_t kMost = 400;
  if (text.size() <= kMost) return text;
  size_t end = kMost;
  while (end > 0 && formats::is_continuation(text[end])) --end;
  return text.substr(0, end) + "...";
}

// Many values of an output, such as scores of classes, say nothing to a reader.
bool is_shown(const pipeline::NamedValue& value) {
  constexpr int64_t kMostValues = 8;
  return !value.is_output || value.value.numel() <= kMostValues ||
         artifacts::is_image(pipeline::make_view(value.name, value.value));
}

artifacts::SampleFields list_fields(const pipeline::ScoredSample& sample) {
  artifacts::SampleFields fields;
  for (const pipeline::NamedValue& value : sample.values)
    if (!value.text && is_shown(value)) fields.push_back(pipeline::make_view(value.name, value.value));
  return fields;
}

// Returns "alcohol 13.2, colour red": the values before they were standardised, with the names of their columns.
std::string format_columns(const at::Tensor& values, const std::vector<TableColumn>& columns) {
  const at::Tensor numbers = values.to(at::kDouble).flatten().contiguous();
  const double* const begin = numbers.const_data_ptr<double>();
  int64_t next = 0;
  std::vector<std::string> parts;
  for (const TableColumn& column : columns) {
    const auto count = std::max<int64_t>(std::ssize(column.categories), 1);
    if (next + count > numbers.numel()) return "";
    const double* const first = begin + next;
    next += count;
    if (column.categories.empty()) {
      parts.push_back(fmt::format("{} {:.4g}", column.name, *first * column.std + column.mean));
      continue;
    }
    const double* const chosen = std::find(first, first + count, 1.0);
    parts.push_back(column.name + " " +
                    (chosen == first + count ? "unknown" : column.categories[static_cast<size_t>(chosen - first)]));
  }
  return next == numbers.numel() ? formats::join(parts, ", ") : "";
}

// Replaces the numbers of fields that have columns.
void name_columns(const pipeline::ScoredSample& sample, const TableColumns& columns, artifacts::RenderedSample& drawn) {
  for (const pipeline::NamedValue& value : sample.values) {
    const auto found = value.is_output ? columns.end() : columns.find(value.name);
    const auto shown = std::ranges::find(drawn.values, value.name, &std::pair<std::string, std::string>::first);
    if (found == columns.end() || shown == drawn.values.end()) continue;
    if (const std::string text = format_columns(value.value, found->second); !text.empty()) shown->second = text;
  }
}

// Adds the texts in the order of the sample's values.
void add_texts(const pipeline::ScoredSample& sample, artifacts::RenderedSample& drawn) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const pipeline::NamedValue& value : sample.values) {
    const auto known = std::ranges::find(drawn.values, value.name, &std::pair<std::string, std::string>::first);
    if (value.text)
      values.emplace_back(value.name, shorten(*value.text));
    else if (known != drawn.values.end())
      values.push_back(*known);
  }
  drawn.values = std::move(values);
}

void write_pictures(const char* group, const std::vector<SavedSample>& samples, const fs::path& folder) {
  for (size_t i = 0; i < samples.size(); ++i)
    for (const artifacts::RenderedPicture& picture : samples[i].drawn.pictures) {
      const std::string_view bytes(reinterpret_cast<const char*>(picture.png.data()), picture.png.size());
      artifacts::write_file_durably(folder / name_picture(group, i, picture.name), bytes, support::ErrorKind::system,
                                    artifacts::SyncedBy::containing_folder);
    }
}

std::vector<SavedSample> read_group(const Json& list, const fs::path& folder) {
  std::vector<SavedSample> samples;
  for (const Json& one : list) {
    SavedSample& sample = samples.emplace_back(SavedSample{one.at("index"), one.at("loss"), {}});
    for (const Json& picture : one.at("pictures")) {
      // Only the file name is used, so that nothing outside the folder is read.
      const std::string png = support::read_text(folder / fs::path(picture.at("file").get<std::string>()).filename());
      const auto bytes = std::as_bytes(std::span(png));
      sample.drawn.pictures.push_back(
          {picture.at("field"), picture.at("height"), picture.at("width"), {bytes.begin(), bytes.end()}});
    }
    for (const auto& [name, text] : one.at("values").items()) sample.drawn.values.emplace_back(name, text);
  }
  return samples;
}

SavedConfusion read_confusion(const Json& json) {
  SavedConfusion read{json.at("output"), json.at("target"), json.at("per_sample"), {json.at("classes"), {}}};
  for (const Json& cell : json.at("counts")) {
    const artifacts::Confusion::Cell one{cell.at(0), cell.at(1), cell.at(2)};
    const auto is_class = [&](int64_t number) { return number >= 0 && number < read.counts.classes; };
    if (!is_class(one.target) || !is_class(one.predicted) || one.count < 1)
      throw support::Error(support::ErrorKind::checkpoint, "counts: " + cell.dump() + " is not a count of two classes");
    read.counts.cells.push_back(one);
  }
  if (json.contains("names")) read.counts.names = json.at("names").get<std::vector<std::string>>();
  return read;
}

SavedSamples parse(const Json& json, const fs::path& folder) {
  SavedSamples read{json.at("data"), json.at("step"), json.at("scored"), json.at("size"), {}, {}, {}, {}, {}};
  read.worst = read_group(json.at("worst"), folder);
  read.best = read_group(json.at("best"), folder);
  for (const auto& [field, range] : json.at("ranges").items()) read.ranges[field] = {range.at(0), range.at(1)};
  for (const Json& one : json.at("classes")) read.classes.push_back(read_confusion(one));
  for (const Json& one : json.at("numbers")) read.numbers.push_back(read_numbers(one));
  for (const Json& one : json.at("mask_colours")) read.colours.push_back({one.at("name"), one.at("colour")});
  return read;
}

// Reads one number or a list of them. Returns nothing for another value.
std::vector<double> read_numbers(const Json& step, const char* key) {
  std::vector<double> numbers;
  const auto found = step.find(key);
  if (found == step.end()) return numbers;
  if (found->is_number()) return {found->get<double>()};
  if (!found->is_array()) return numbers;
  for (const Json& one : *found)
    if (one.is_number()) numbers.push_back(one.get<double>());
  return numbers;
}

bool is_drawn(uint32_t role) { return role == TENON_FIELD_BOXES || role == TENON_FIELD_KEYPOINTS; }

}  // namespace

SavedSamples draw_scores(const pipeline::SampleScores& scores, int64_t step, const config::ClassNames& names,
                         const artifacts::ImageDetails& details, const TableColumns& columns) {
  std::vector<artifacts::SampleFields> fields;
  for (const auto* group : {&scores.worst, &scores.best})
    for (const pipeline::ScoredSample& sample : *group) fields.push_back(list_fields(sample));
  artifacts::RenderedSamples drawn = artifacts::render_samples(fields, kMaxSide, with_predictions(names), details);
  auto next = drawn.samples.begin();
  for (const auto* group : {&scores.worst, &scores.best})
    for (const pipeline::ScoredSample& sample : *group) {
      name_columns(sample, columns, *next);
      add_texts(sample, *next++);
    }
  SavedSamples saved{scores.data, step, scores.scored, scores.size, {}, {}, std::move(drawn.ranges), {}, {}};
  next = drawn.samples.begin();
  for (const auto& [from, to] : {std::pair(&scores.worst, &saved.worst), std::pair(&scores.best, &saved.best)})
    for (const pipeline::ScoredSample& sample : *from) to->push_back({sample.index, sample.loss, std::move(*next++)});
  for (const pipeline::ClassCounts& one : scores.classes)
    saved.classes.push_back(
        {one.output, one.target, one.is_per_sample, to_confusion(one.counts, config::find_classes(names, one.target))});
  for (const pipeline::PredictedNumbers& one : scores.numbers) saved.numbers.push_back(to_saved(one));
  saved.colours = std::move(drawn.colours);
  return saved;
}

void write_samples(const SavedSamples& samples, const fs::path& folder) {
  support::replace_with_empty_folder(folder, support::ErrorKind::system);
  write_pictures("worst", samples.worst, folder);
  write_pictures("best", samples.best, folder);
  Json ranges = Json::object(), classes = Json::array();
  for (const auto& [field, range] : samples.ranges) ranges[field] = {range.smallest, range.largest};
  for (const SavedConfusion& one : samples.classes) classes.push_back(to_json(one));
  Json numbers = Json::array();
  for (const SavedNumbers& one : samples.numbers) numbers.push_back(to_json(one));
  Json mask_colours = Json::array();
  for (const artifacts::ClassColour& one : samples.colours)
    mask_colours.push_back({{"name", one.name}, {"colour", one.colour}});
  const Json json{{"data", samples.data},
                  {"step", samples.step},
                  {"scored", samples.scored},
                  {"size", samples.size},
                  {"worst", to_json("worst", samples.worst)},
                  {"best", to_json("best", samples.best)},
                  {"ranges", ranges},
                  {"classes", classes},
                  {"numbers", numbers},
                  {"mask_colours", mask_colours}};
  artifacts::write_file_durably(folder / kFile, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                                support::ErrorKind::system);
}

std::optional<SavedSamples> read_samples(const fs::path& folder) {
  const fs::path file = folder / kFile;
  if (!support::path_exists(file)) return std::nullopt;
  try {
    return parse(Json::parse(support::read_text(file)), folder);
  } catch (const std::exception& error) {
    throw support::Error(support::ErrorKind::checkpoint,
                         "{}: {}; expected a file written by a run: remove the folder to get a report without samples",
                         file.string(), error.what());
  }
}

std::string make_file_name(std::string_view name) {
  std::string file;
  for (const char letter : name)
    file += std::isalnum(static_cast<unsigned char>(letter)) || letter == '-' || letter == '.' ? letter : '_';
  return file;
}

artifacts::ImageDetails find_image_details(const config::RunPlan& plan, const components::Dataset& data) {
  artifacts::ImageDetails found;
  for (const components::SampleField& field : data.fields()) {
    if (is_drawn(field.role)) found.places[field.name] = {field.role, field.image, field.classes};
    const Json steps = Json::parse(pipeline::format_field_steps(plan, data, field.name), nullptr, false);
    if (!steps.is_array()) continue;
    size_t count = 0;
    artifacts::Normalisation last;
    for (const Json& step : steps) {
      if (!step.is_object() || step.value("name", Json()) != "normalize") continue;
      ++count;
      last = {read_numbers(step, "mean"), read_numbers(step, "std")};
    }
    if (count == 1 && !last.mean.empty() && !last.std.empty()) found.normalisations[field.name] = last;
  }
  return found;
}

artifacts::ImageDetails find_image_details(const config::RunPlan& plan, const pipeline::BoundDataset& data,
                                           const components::Model& model) {
  artifacts::ImageDetails found = find_image_details(plan, data.feed.dataset());
  const std::vector<components::SampleField>& fields = data.transforms.fields();
  const std::vector<pipeline::Source>& sources = data.model.front().sources();
  for (const components::ModelResult& result : model.results()) {
    const auto input = std::ranges::find(model.inputs(), result.image, &components::Port::name);
    if (input == model.inputs().end() || !is_drawn(result.role)) continue;
    const pipeline::Source& source = sources[static_cast<size_t>(input - model.inputs().begin())];
    if (source.kind != pipeline::Source::Kind::field) continue;
    artifacts::ImagePlace place{result.role, fields[source.index].name, "", /*is_predicted=*/true};
    const auto classes = std::ranges::find(model.results(), result.classes, &components::ModelResult::name);
    if (classes != model.results().end()) place.classes = pipeline::name_result(*classes, fields);
    // The classes of predicted boxes are those of the boxes that the data have.
    for (const components::SampleField& field : fields)
      if (field.role == result.role && field.image == place.image) place.named_by = field.classes;
    found.places[pipeline::name_result(result, fields)] = place;
  }
  return found;
}

TableColumns find_table_columns(const config::RunPlan& plan, const components::Dataset& data) {
  TableColumns found;
  for (const components::SampleField& field : data.fields()) {
    const Json steps = Json::parse(pipeline::format_field_steps(plan, data, field.name), nullptr, false);
    // A step after it would have changed the values.
    if (!steps.is_array() || steps.size() != 1 || !steps[0].is_object() || steps[0].value("name", Json()) != "columns")
      continue;
    std::vector<TableColumn> columns;
    try {
      for (const Json& one : steps[0].at("columns"))
        columns.push_back({one.at("name"), one.value("mean", 0.0), one.value("std", 1.0),
                           one.value("categories", std::vector<std::string>())});
    } catch (const Json::exception&) {
      continue;  // another plugin's step of this name
    }
    found[field.name] = std::move(columns);
  }
  return found;
}

}  // namespace tenon::reporting
