#include "framework/artifacts/drawing/confusion_chart.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "framework/artifacts/drawing/line_chart.h"

namespace tenon::artifacts {

namespace {

constexpr double kMaxWidth = 440;  // width of the image, equal to that of a chart
constexpr double kMargin = 44;     // space on the left and above for the labels of axes and classes
constexpr double kMaxCell = 30;
constexpr double kLeastLabelled = 11;  // the labels of smaller cells would overlap
constexpr double kLeastCounted = 22;
constexpr double kMaxOpacity = 0.6;  // the counts must stay legible

std::string write_text(const char* classes, double x, double y, const char* anchor, const std::string& words) {
  return std::string("<text class=\"") + classes + "\" x=\"" + print_short_number(x) + "\" y=\"" +
         print_short_number(y) + "\" text-anchor=\"" + anchor + "\">" + words + "</text>\n";
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
  const double cell = std::min(kMaxCell, (kMaxWidth - kMargin) / classes);
  const double size = kMargin + cell * classes + 2;
  const std::vector<int64_t> targets = confusion.by_target();
  const auto place = [&](int64_t number) { return kMargin + cell * static_cast<double>(number); };
  std::string text = "<svg class=\"chart confusion\" viewBox=\"0 0 " + print_short_number(size) + " " +
                     print_short_number(size) + "\" style=\"max-width:" + print_short_number(size) +
                     "px\" role=\"img\" aria-label=\"confusion\">\n";
  text += write_text("tick", kMargin + cell * classes / 2, 12, "middle", "predicted");
  text += "<g transform=\"rotate(-90)\">" +
          write_text("tick", -(kMargin + cell * classes / 2), 12, "middle", "target") + "</g>\n";
  const auto step = static_cast<int64_t>(std::ceil(kLeastLabelled / cell));
  for (int64_t i = 0; i < confusion.classes; i += step) {
    text += write_text("tick", place(i) + cell / 2, kMargin - 8, "middle", std::to_string(i));
    text += write_text("tick", kMargin - 6, place(i) + cell / 2 + 4, "end", std::to_string(i));
  }
  text += "<rect class=\"frame\" x=\"" + print_short_number(kMargin) + "\" y=\"" + print_short_number(kMargin) +
          "\" width=\"" + print_short_number(cell * classes) + "\" height=\"" + print_short_number(cell * classes) +
          "\"/>\n";
  for (const Confusion::Cell& one : confusion.cells) {
    const int64_t of = targets[static_cast<size_t>(one.target)];
    const double share = static_cast<double>(one.count) / static_cast<double>(of);
    const std::string colour = one.target == one.predicted ? "c0" : "c1";
    text += "<rect class=\"dot " + colour + "\" fill-opacity=\"" +
            print_short_number(0.06 + (kMaxOpacity - 0.06) * share) + "\" x=\"" +
            print_short_number(place(one.predicted)) + "\" y=\"" + print_short_number(place(one.target)) +
            "\" width=\"" + print_short_number(cell) + "\" height=\"" + print_short_number(cell) + "\"><title>class " +
            std::to_string(one.target) + " as " + std::to_string(one.predicted) + ": " + std::to_string(one.count) +
            " of " + std::to_string(of) + "</title></rect>\n";
    if (cell >= kLeastCounted && one.count < 10000)
      text += write_text("count", place(one.predicted) + cell / 2, place(one.target) + cell / 2 + 4, "middle",
                         std::to_string(one.count));
  }
  return text + "</svg>\n";
}

}  // namespace tenon::artifacts
