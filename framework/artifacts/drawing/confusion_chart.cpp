#include "framework/artifacts/drawing/confusion_chart.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/artifacts/files/encode.h"
#include "framework/config/values/class_names.h"
#include "framework/formats/unicode.h"
#include "framework/support/text/format.h"

namespace tenon::artifacts {

namespace {

constexpr double kMaxWidth = 440;  // width of the image, equal to that of a chart
constexpr double kMargin = 44;     // space on the left and above for the labels of axes and numbers of classes
constexpr size_t kMaxName = 14;    // characters of a name in a label
constexpr double kCharacter = 6;   // width of a character of a label
constexpr double kMaxCell = 30;
constexpr double kLeastLabelled = 11;  // the labels of smaller cells would overlap
constexpr double kLeastCounted = 22;
constexpr double kMinOpacity = 0.2;  // of a class that is rarely confused, also on a dark background
constexpr double kMaxOpacity = 0.6;  // the counts must stay legible

std::string write_text(const char* classes, double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", classes,
                     format_short_number(x), format_short_number(y), anchor, words);
}

std::string write_turned_text(double x, double y, const char* anchor, const std::string& words) {
  return "<g transform=\"rotate(-90)\">" + write_text("tick", x, y, anchor, words) + "</g>\n";
}

// The attributes of a rectangle.
std::string write_place(double x, double y, double size) {
  const std::string side = format_short_number(size);
  return fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", format_short_number(x), format_short_number(y),
                     side, side);
}

// The label of a class: its number, or its name, shortened.
std::string label_class(const Confusion& confusion, int64_t number) {
  const std::string name = config::name_class(confusion.names, number);
  std::string label;
  size_t characters = 0;
  for (const char byte : name) {
    if (!formats::is_continuation(byte) && ++characters > kMaxName) return escape_html(label) + "…";
    label += byte;
  }
  return escape_html(label);
}

// Names need more space than numbers.
double find_margin(const Confusion& confusion) {
  size_t longest = 0;
  for (const std::string& name : confusion.names) longest = std::max(longest, std::min(name.size(), kMaxName + 1));
  return std::max(kMargin, 26 + kCharacter * static_cast<double>(longest));
}

std::vector<int64_t> sum_by(const Confusion& confusion, int64_t Confusion::Cell::*which) {
  std::vector<int64_t> sums(static_cast<size_t>(confusion.classes));
  for (const Confusion::Cell& cell : confusion.cells) sums[static_cast<size_t>(cell.*which)] += cell.count;
  return sums;
}

}  // namespace

int64_t Confusion::total() const {
  int64_t sum = 0;
  for (const Cell& cell : cells) sum += cell.count;
  return sum;
}

int64_t Confusion::correct() const {
  int64_t sum = 0;
  for (const Cell& cell : cells) sum += cell.target == cell.predicted ? cell.count : 0;
  return sum;
}

std::vector<int64_t> Confusion::by_target() const { return sum_by(*this, &Cell::target); }
std::vector<int64_t> Confusion::by_predicted() const { return sum_by(*this, &Cell::predicted); }

std::vector<Confusion::Cell> Confusion::find_misclassified(size_t most) const {
  std::vector<Cell> misclassified;
  for (const Cell& cell : cells)
    if (cell.target != cell.predicted) misclassified.push_back(cell);
  std::ranges::stable_sort(misclassified, std::greater(), &Cell::count);
  misclassified.resize(std::min(misclassified.size(), most));
  return misclassified;
}

std::vector<double> Confusion::intersections_over_unions() const {
  const std::vector<int64_t> targets = by_target(), predicted = by_predicted();
  std::vector<double> both(static_cast<size_t>(classes));
  for (const Cell& cell : cells)
    if (cell.target == cell.predicted) both[static_cast<size_t>(cell.target)] = static_cast<double>(cell.count);
  for (size_t i = 0; i < both.size(); ++i) both[i] /= static_cast<double>(targets[i] + predicted[i]) - both[i];
  return both;
}

std::string draw_confusion(const Confusion& confusion) {
  const auto classes = static_cast<double>(confusion.classes);
  const double margin = find_margin(confusion);
  const double cell = std::min(kMaxCell, (kMaxWidth - margin) / classes);
  const double size = margin + cell * classes + 2;
  const std::vector<int64_t> targets = confusion.by_target();
  const auto place = [&](int64_t number) { return margin + cell * static_cast<double>(number); };
  std::string text = fmt::format(
      "<svg class=\"chart confusion\" viewBox=\"0 0 {0} {0}\" style=\"max-width:{0}px\" role=\"img\" "
      "aria-label=\"confusion\">\n",
      format_short_number(size));
  text += write_text("tick", margin + cell * classes / 2, 12, "middle", "predicted");
  text += write_turned_text(-(margin + cell * classes / 2), 12, "middle", "target");
  const auto step = static_cast<int64_t>(std::ceil(kLeastLabelled / cell));
  for (int64_t i = 0; i < confusion.classes; i += step) {
    const std::string label = label_class(confusion, i);
    if (confusion.names.empty())
      text += write_text("tick", place(i) + cell / 2, margin - 8, "middle", label);
    else
      text += write_turned_text(6 - margin, place(i) + cell / 2 + 4, "start", label);
    text += write_text("tick", margin - 6, place(i) + cell / 2 + 4, "end", label);
  }
  text += fmt::format("<rect class=\"frame\" {}/>\n", write_place(margin, margin, cell * classes));
  for (const Confusion::Cell& one : confusion.cells) {
    const int64_t of = targets[static_cast<size_t>(one.target)];
    const double share = static_cast<double>(one.count) / static_cast<double>(of);
    text +=
        fmt::format("<rect class=\"dot {}\" fill-opacity=\"{}\" {}><title>class {} as {}: {} of {}</title></rect>\n",
                    one.target == one.predicted ? "c0" : "c1",
                    format_short_number(kMinOpacity + (kMaxOpacity - kMinOpacity) * share),
                    write_place(place(one.predicted), place(one.target), cell),
                    escape_html(config::name_class(confusion.names, one.target)),
                    escape_html(config::name_class(confusion.names, one.predicted)), one.count, of);
    if (cell >= kLeastCounted && one.count < 10000)
      text += write_text("count", place(one.predicted) + cell / 2, place(one.target) + cell / 2 + 4, "middle",
                         std::to_string(one.count));
  }
  return text + "</svg>\n";
}

}  // namespace tenon::artifacts
