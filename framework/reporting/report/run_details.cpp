#include "framework/reporting/report/run_details.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/callbacks/progress.h"
#include "framework/reporting/report/html_elements.h"
#include "framework/reporting/report/run_again.h"
#include "framework/support/text/format_values.h"

namespace tenon::reporting {

namespace {

using Json = nlohmann::ordered_json;

std::string format_stages(const ReadRun& run) {
  const std::vector<pipeline::StageSeconds> stages = run.stages();
  double total = 0;
  for (const pipeline::StageSeconds& one : stages) total += one.seconds;
  if (total <= 0) return "";
  std::vector<double> shares;
  std::string rows;
  for (const pipeline::StageSeconds& one : stages) {
    artifacts::ChartSeries key;
    key.colour = shares.size();
    shares.push_back(one.seconds / total);
    char seconds[32], percent[32];
    std::snprintf(seconds, sizeof seconds, "%.1f s", one.seconds);
    std::snprintf(percent, sizeof percent, "%.1f %%", 100 * shares.back());
    rows +=
        element("tr", "",
                element("td", "", artifacts::draw_key(key) + format_text(one.name)) +
                    text_element("td", "class=\"number\"", seconds) + text_element("td", "class=\"number\"", percent)) +
        "\n";
  }
  return section(
      "Where the time went",
      artifacts::draw_bar(shares) + element("table", "", "\n" + rows) + "\n" +
          text_element("p", "class=\"quiet\"",
                       "Time of the training thread of rank 0. Stage data is the time spent waiting for data.") +
          "\n");
}

std::string format_preformatted(const std::string& text, const char* attributes = "") {
  return text_element("pre", attributes, text) + "\n";
}

std::string format_model(const ReadRun& run) {
  std::string lines;
  if (const auto model = run.record().find("model"); model != run.record().end() && model->is_array())
    for (const Json& line : *model) lines += (line.is_string() ? line.get<std::string>() : line.dump()) + "\n";
  return lines.empty() ? "" : section("Model", format_preformatted(lines, "class=\"table\""));
}

// Lists every scalar of run.json with the names of its enclosing objects.
void flatten(const Json& value, const std::string& key, std::vector<std::pair<std::string, std::string>>& values) {
  if (value.is_object() || value.is_array()) {
    for (const auto& [name, child] : value.items()) flatten(child, key.empty() ? name : key + " " + name, values);
  } else if (!value.is_null()) {
    const bool is_bytes = key.ends_with("_bytes") && value.is_number_unsigned();
    std::string name = is_bytes ? key.substr(0, key.size() - std::string("_bytes").size()) : key;
    std::ranges::replace(name, '_', ' ');
    values.emplace_back(name == "peak" ? "peak memory" : name, is_bytes ? support::format_bytes(value.get<uint64_t>())
                                                               : value.is_boolean() ? (value.get<bool>() ? "yes" : "no")
                                                               : value.is_string()  ? value.get<std::string>()
                                                                                    : value.dump());
  }
}

// Returns an empty text if the key is missing.
std::string text_in(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string format_environment(const ReadRun& run) {
  Json shown = run.record();
  // These keys are shown elsewhere on the page or are not meant for readers.
  for (const char* const key : {"model", "directions", "monitor", "command_line", "plugins", "test", "stages",
                                "first_loss", "zero_output_loss", "start", "end", "status"})
    shown.erase(key);
  for (const char* const key : {"host_waits", "graph_replays"})  // of a device
    if (const auto count = shown.find(key); count != shown.end() && *count == 0) shown.erase(key);
  std::vector<std::pair<std::string, std::string>> values;
  flatten(shown, "", values);
  if (const auto plugins = run.record().find("plugins"); plugins != run.record().end() && plugins->is_array())
    for (const Json& plugin : *plugins)
      values.emplace_back(
          "plugin " + text_in(plugin, "id"),
          text_in(plugin, "version") + ", " + text_in(plugin, "file") + ", SHA-256 " + text_in(plugin, "sha256"));
  std::string rows;
  for (const auto& [key, value] : values)
    rows += element("tr", "", text_element("th", "", key) + text_element("td", "", value)) + "\n";
  return section("Environment", element("table", "class=\"environment\"", "\n" + rows) + "\n");
}

std::string format_run_again(const ReadRun& run) {
  return section("Repeat the run", format_preformatted(describe_run_again(run)));
}

}  // namespace

std::string format_details(const ReadRun& run) {
  return format_stages(run) + format_run_again(run) + section("Configuration", format_preformatted(run.plan())) +
         format_model(run) + format_environment(run);
}

}  // namespace tenon::reporting
