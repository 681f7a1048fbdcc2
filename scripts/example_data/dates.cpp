#include "scripts/example_data/dates.h"

#include <array>
#include <chrono>
#include <string>
#include <unordered_set>

#include <tenon/random.hpp>

#include "scripts/example_data/output_files.h"

namespace example_data {
namespace {

constexpr uint64_t kSeed = 0xDA7E5;
constexpr size_t kRows = 10000;

constexpr std::array<const char*, 12> kMonths = {"January", "February", "March",     "April",   "May",      "June",
                                                 "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<const char*, 7> kWeekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                  "Thursday", "Friday", "Saturday"};

// Formats the parts of a date.
class Date {
 public:
  explicit Date(std::chrono::sys_days day) : date_(day), weekday_(kWeekdays[std::chrono::weekday(day).c_encoding()]) {}

  int year() const { return static_cast<int>(date_.year()); }
  int month() const { return static_cast<int>(static_cast<unsigned>(date_.month())); }
  int day() const { return static_cast<int>(static_cast<unsigned>(date_.day())); }

  std::string y() const { return std::to_string(year()); }
  std::string m() const { return std::to_string(month()); }
  std::string d() const { return std::to_string(day()); }
  std::string mm() const { return two_digits(month()); }
  std::string dd() const { return two_digits(day()); }
  std::string month_name() const { return kMonths[static_cast<size_t>(month() - 1)]; }
  std::string short_month() const { return month_name().substr(0, 3); }
  std::string weekday() const { return weekday_; }
  std::string short_weekday() const { return weekday_.substr(0, 3); }
  // Returns the day as an ordinal: 1st, 2nd, 3rd, 4th.
  std::string nth() const {
    const bool is_teen = day() / 10 == 1;
    const int last = is_teen ? 0 : day() % 10;
    return d() + (last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
  }
  std::string iso() const { return y() + '-' + mm() + '-' + dd(); }

 private:
  static std::string two_digits(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }

  std::chrono::year_month_day date_;
  std::string weekday_;
};

using Style = std::string (*)(const Date& date);

constexpr std::array<Style, 14> kStyles = {
    [](const Date& date) { return date.nth() + " of " + date.month_name() + ' ' + date.y(); },
    [](const Date& date) { return "the " + date.nth() + " of " + date.month_name() + ", " + date.y(); },
    [](const Date& date) { return date.month_name() + ' ' + date.d() + ", " + date.y(); },
    [](const Date& date) { return date.month_name() + ' ' + date.nth() + ", " + date.y(); },
    [](const Date& date) { return date.d() + ' ' + date.month_name() + ' ' + date.y(); },
    [](const Date& date) { return date.d() + ' ' + date.short_month() + ' ' + date.y(); },
    [](const Date& date) { return date.short_month() + ". " + date.d() + ", " + date.y(); },
    [](const Date& date) { return date.weekday() + ", " + date.d() + ' ' + date.month_name() + ' ' + date.y(); },
    [](const Date& date) {
      return date.short_weekday() + ", " + date.short_month() + ' ' + date.d() + ", " + date.y();
    },
    [](const Date& date) {
      return date.weekday() + " the " + date.nth() + " of " + date.month_name() + ' ' + date.y();
    },
    [](const Date& date) { return date.d() + '.' + date.m() + '.' + date.y(); },
    [](const Date& date) { return date.mm() + '/' + date.dd() + '/' + date.y(); },
    [](const Date& date) { return date.y() + ' ' + date.month_name() + ' ' + date.d(); },
    [](const Date& date) { return date.dd() + '-' + date.short_month() + '-' + date.y(); },
};

// Changes one in three texts to lower case and one in six to upper case.
std::string change_case(std::string text, tenon::Random& random) {
  const int64_t choice = random.integer(6);
  for (char& c : text) {
    if (choice <= 1 && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (choice == 2 && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

}  // namespace

void write_dates(const std::filesystem::path& folder) {
  using namespace std::chrono_literals;
  constexpr std::chrono::sys_days first = std::chrono::year_month_day{1900y, std::chrono::January, 1d};
  constexpr std::chrono::sys_days last = std::chrono::year_month_day{2099y, std::chrono::December, 31d};
  constexpr int64_t days = (last - first).count() + 1;
  tenon::Random random(kSeed);
  std::unordered_set<std::string> seen;
  std::string table = "source\ttarget\n";
  while (seen.size() < kRows) {
    const Date date(first + std::chrono::days(random.integer(days)));
    const std::string source = change_case(kStyles[static_cast<size_t>(random.integer(kStyles.size()))](date), random);
    if (seen.insert(source).second) table += source + '\t' + date.iso() + '\n';
  }
  write_file(folder / "dates.tsv", table);
}

}  // namespace example_data
