#include "plugins/datasets/shared/csv.h"

#include <doctest/doctest.h>

#include <tenon/error.hpp>

#include "tests/datasets/written_images.h"

namespace csv_test {

using tables::Csv;

namespace {

std::string refusal(const std::string& text, char separator = ',') {
  return error_of<tenon::DataError>([&] { Csv(text, "t.csv", separator); });
}

}  // namespace

TEST_CASE("cells are read by row and by the header's names") {
  const Csv csv("path,label\na.png,cat\nb.png,dog\n", "t.csv", ',');
  CHECK(csv.rows() == 2);
  CHECK(csv.columns() == std::vector<std::string>{"path", "label"});
  CHECK(csv.cell(0, csv.column("path", "image")) == "a.png");
  CHECK(csv.cell(1, csv.column("label", "labels")) == "dog");
  CHECK(csv.place(1, 0) == "t.csv:3: column \"path\"");
}

TEST_CASE("quoted cells may hold separators, quotes and line ends, and all lines are counted") {
  const Csv csv("a,b\r\n\"1,\"\"x\"\"\",\"two\r\nlines\"\r\n3,\n", "t.csv", ',');
  REQUIRE(csv.rows() == 2);
  CHECK(csv.cell(0, 0) == "1,\"x\"");
  CHECK(csv.cell(0, 1) == "two\r\nlines");
  CHECK(csv.cell(1, 1).empty());
  CHECK(csv.place(0) == "t.csv:2");
  CHECK(csv.place(1) == "t.csv:4");
}

TEST_CASE("a byte order mark, blank lines and a missing last line end do not matter") {
  const Csv csv(
      "\xEF\xBB\xBF"
      "a;b\n\n1;2\n\n3;4",
      "t.csv", ';');
  REQUIRE(csv.rows() == 2);
  CHECK(csv.columns().front() == "a");
  CHECK(csv.cell(1, 1) == "4");
  CHECK(csv.place(1) == "t.csv:5");
}

TEST_CASE("in a table with one column a blank line is an empty cell") {
  const Csv csv("a\n\nx\n", "t.csv", ',');
  REQUIRE(csv.rows() == 2);
  CHECK(csv.cell(0, 0).empty());
}

TEST_CASE("an invalid CSV is refused with line and cell") {
  CHECK(refusal("a,b\n1,2\n3\n") == "t.csv:3: has 1 cells; expected 2, as the header has");
  CHECK(refusal("a,b\n1,2,3\n").find("t.csv:2: has 3 cells") == 0);
  CHECK(refusal("a,b\n1,x\"y\n").find("t.csv:2: cell 2: a quote within an unquoted cell") == 0);
  CHECK(refusal("a,b\n\"1\"x,2\n").find("t.csv:2: cell 1: text after the closing quote") == 0);
  CHECK(refusal("a,b\n1,2\n\"3,4\n5,6\n").find("t.csv:3: cell 1: an unclosed quote") == 0);
  CHECK(refusal(std::string("a,b\n1,\0\n", 8)).find("t.csv:2: cell 2: a control character") == 0);
  CHECK(refusal("a,\n1,2\n").find("t.csv:1: column 2 has no name") == 0);
  CHECK(refusal("a,b,a\n1,2,3\n").find("t.csv:1: column 3 is named \"a\"") == 0);
  CHECK(refusal("a,b\n").find("t.csv: has no row") == 0);
  CHECK(refusal("").find("t.csv:1: column 1 has no name") == 0);
}

TEST_CASE("a missing file and a missing column are named") {
  const std::string path = (make_empty_folder("no_csv") / "t.csv").string();
  CHECK(error_of<tenon::DataError>([&] { Csv csv(path); }).find(path + ": cannot be read") == 0);
  const Csv csv("path,label\na,b\n", "t.csv", ',');
  CHECK(error_of<tenon::DataError>([&] { csv.column("labels", "labels"); }) ==
        "t.csv:1: there is no column \"labels\", which the parameter \"labels\" names; available: \"path\", \"label\"");
}

TEST_CASE("another separator and the line ends of old Macintosh programs are named") {
  const Csv semicolons("x;z;y\n1;2;3\n", "t.csv", ',');
  const std::string advice =
      "; the names seem to be separated by a semicolon: set separator = \"semicolon\", or write the file with commas "
      "if "
      "the dataset has no such parameter";
  CHECK(error_of<tenon::DataError>([&] { semicolons.column("y", "target"); }) ==
        "t.csv:1: there is no column \"y\", which the parameter \"target\" names; available: \"x;z;y\"" + advice);
  CHECK(refusal("x;z\n0,5;0,25\n") == "t.csv:2: has 3 cells; expected 1, as the header has" + advice);
  const Csv commas("x,y\n1,2\n", "t.csv", '\t');
  CHECK(error_of<tenon::DataError>([&] { commas.column("y", "target"); }).find("set separator = \"comma\"") !=
        std::string::npos);
  CHECK(refusal("x,y\r1,2\r").find("t.csv:1: cell 2: a carriage return (CR) without a line feed") == 0);
}

TEST_CASE("a table may have many columns") {
  constexpr size_t kColumns = 100'000;
  std::string header, row;
  for (size_t i = 0; i < kColumns; ++i) {
    header += (i == 0 ? "c" : ",c") + std::to_string(i);
    row += i == 0 ? "7" : ",7";
  }
  const Csv csv(header + '\n' + row + '\n', "t.csv", ',');
  for (size_t i = 0; i < kColumns; ++i) REQUIRE(csv.column("c" + std::to_string(i), "features") == i);
  CHECK(error_of<tenon::DataError>([&] {
          Csv(header + ",c0\n" + row + ",7\n", "t.csv", ',');
        }).find("t.csv:1: column 100001 is named \"c0\"") == 0);
}

TEST_CASE("the whole cell must be a finite number") {
  const Csv csv("x\n-1.5e2\n12\n1e-60\n+5\n1x\ninf\n1e39\n\n++5\n+-5\n+\n", "t.csv", ',');
  CHECK(csv.number(0, 0) == -150);
  CHECK(csv.number(1, 0) == 12);
  CHECK(csv.number(2, 0) == 0);
  CHECK(csv.number(3, 0) == 5);
  for (size_t row = 4; row < csv.rows(); ++row) {
    const std::string text = error_of<tenon::DataError>([&] { csv.number(row, 0); });
    CHECK(text.find("t.csv:" + std::to_string(row + 2) + ": column \"x\": \"") == 0);
  }
}

TEST_CASE("a row of data in place of the header is refused, or reported if it may be a header") {
  for (const char* text : {"1,2,a\n3,4,b\n5,6,a\n", "5.1,3.5,setosa\n4.9,3.0,setosa\n", "0.5,0.1\n0.2,0.3\n"}) {
    CAPTURE(text);
    CHECK(refusal(text).find("t.csv:1: is probably a row of data and not a header: ") == 0);
  }
  // Numbered columns, years, wavelengths, and a name that is also a value.
  for (const char* text : {"0,1,2\n0,0,0\n", "label,1,0\n7,2,3\n", "2019,2020\n1,2\n", "400.0,400.5,label\n1,2,a\n",
                           "text,spam\nx,spam\ny,ham\n"})
    CHECK(refusal(text).empty());
}

TEST_CASE("names of columns are trimmed, and blank lines before the header are skipped") {
  const Csv csv("\n  \r\n a ,\" b\"\n1,2\n   \n3,4\n", "t.csv", ',');
  CHECK(csv.columns() == std::vector<std::string>{"a", "b"});
  CHECK(csv.rows() == 2);
  CHECK(csv.column(" b", "labels") == 1);
  CHECK(csv.place(0) == "t.csv:4");
}

TEST_CASE("a table in UTF-16 or UTF-32 is named, with the command that converts it") {
  const auto widen = [](const std::string& text, size_t bytes, bool is_big) {
    std::string wide;
    for (const char c : text) {
      std::string character(bytes, '\0');
      character[is_big ? bytes - 1 : 0] = c;
      wide += character;
    }
    return wide;
  };
  const std::string text = "x,y\n1,a\n2,b\n";
  CHECK(refusal("\xFF\xFE" + widen(text, 2, false)).find("t.csv: is UTF-16; expected UTF-8; convert it with iconv") ==
        0);
  CHECK(refusal("\xFE\xFF" + widen(text, 2, true)).find("t.csv: is UTF-16; expected UTF-8") == 0);
  CHECK(refusal(widen(text, 2, false)).find("t.csv: is UTF-16LE; expected UTF-8") == 0);
  CHECK(refusal(widen(text, 2, true)).find("t.csv: is UTF-16BE; expected UTF-8") == 0);
  CHECK(refusal(widen(text, 4, false)).find("t.csv: is UTF-32LE; expected UTF-8") == 0);
}

TEST_CASE("a table without a header has numbered columns, and no row is lost") {
  const Csv csv("a,b\n1,2\n", "t.csv", ',', Csv::Header::none);
  CHECK(csv.columns() == std::vector<std::string>{"1", "2"});
  REQUIRE(csv.rows() == 2);
  CHECK(csv.cell(0, 1) == "b");
  CHECK(csv.line(1) == 2);
}

}  // namespace csv_test
