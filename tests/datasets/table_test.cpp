// Tests the built plugin through the C table that the host uses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"

namespace table_test {

namespace fs = std::filesystem;

namespace {

const std::string kPlugin = TENON_BINARY_DIR "/plugins/table.so";

using Texts = std::vector<std::string>;
using Floats = std::vector<float>;

fs::path make_table(const std::string& name, const std::string& text) {
  const fs::path file = make_empty_folder("table_" + name) / "t.csv";
  write_file(file, {text.begin(), text.end()});
  return file;
}

ParamValues make_params(const fs::path& path, const ParamValues& changes) {
  return with_changes({{"path", path.string()},
                       {"target", "y"},
                       {"task", "regression"},
                       {"with_target", true},
                       {"more_targets", Texts{}},
                       {"group", ""},
                       {"ignore", Texts{}},
                       {"categorical", Texts{}},
                       {"max_categories", int64_t{100}},
                       {"missing", "error"},
                       {"standardize", true},
                       {"standardize_target", false},
                       {"statistics_from", ""},
                       {"statistics_split", "as_split"}},
                      changes);
}

OpenedDataset open(const fs::path& path, const ParamValues& changes = {}) {
  return OpenedDataset(kPlugin, make_params(path, changes));
}

std::string refusal(const fs::path& path, const ParamValues& changes = {}) {
  return error_of<Refused>([&] { open(path, changes); });
}

// Returns the error message for a table, without its path.
std::string complaint(const std::string& text, const ParamValues& changes = {}) {
  const fs::path table = make_table("complaint", text);
  const std::string refused = refusal(table, changes);
  REQUIRE(refused.find(table.string() + ':') == 0);
  return refused.substr(table.string().size() + 1);
}

const ParamValues kClassification = {{"task", "classification"}};

void check_close(const Floats& found, const Floats& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-6));
}

// Rows `i,3i`: a feature x, and a target that determines x.
std::string make_line(int rows) {
  std::string text = "x,y\n";
  for (int i = 0; i < rows; ++i) text += std::to_string(i) + ',' + std::to_string(3 * i) + '\n';
  return text;
}

}  // namespace

TEST_CASE("numbers are standardized as in scikit-learn, and each category becomes a feature") {
  const fs::path table = make_table("numbers",
                                    "name,size,colour,y,weight\n\"a, \"\"b\"\"\",1,red,10,4\n"
                                    "\"c\nd\",2,blue,-2.5e1,4\ne, 6 ,red,30,4\n");
  const OpenedDataset rows = open(table, {{"ignore", Texts{"name"}}});
  REQUIRE(rows.size() == 3);
  CHECK(rows.describe_fields() == Texts{"features float32 4", "target float32 1"});
  // Mean 3, variance (4 + 1 + 9) / 3; blue, red; and a weight that is constant.
  const float deviation = std::sqrt(14.0f / 3);
  check_close(rows.floats(0, "features"), {-2 / deviation, 0, 1, 0});
  check_close(rows.floats(1, "features"), {-1 / deviation, 1, 0, 0});
  check_close(rows.floats(2, "features"), {3 / deviation, 0, 1, 0});
  CHECK(rows.floats(1, "target") == Floats{-25});
  CHECK(OpenedDataset::log() ==
        Texts{table.string() + ": 3 samples, 4 features of 3 columns; categorical: colour (2)"});
}

TEST_CASE("numbers that are equal up to rounding become 0") {
  const fs::path table = make_table("constant", "x,y\n0.1,1\n0.1,2\n0.1,3\n0.1,4\n0.1,5\n0.1,6\n0.1,7\n");
  const OpenedDataset rows = open(table);
  for (int64_t i = 0; i < rows.size(); ++i) CHECK(std::abs(rows.floats(i, "features")[0]) < 1e-6);
}

TEST_CASE("large numbers keep their differences") {
  const fs::path table = make_table("large", "time,y\n1700000000,1\n1700000001,2\n1700000002,3\n");
  const OpenedDataset rows = open(table);
  const float deviation = std::sqrt(2.0f / 3);
  check_close(rows.floats(0, "features"), {-1 / deviation});
  check_close(rows.floats(2, "features"), {1 / deviation});
}

TEST_CASE("features have the requested order, and are not standardized on request") {
  const fs::path table = make_table("order", "a;b;c;y\n1;2;3;4\n5;6;7;8\n");
  const ParamValues params = {
      {"separator", "semicolon"}, {"features", Texts{"c", "a"}}, {"standardize", false}, {"standardize_target", true}};
  const OpenedDataset rows = open(table, params);
  CHECK(rows.floats(0, "features") == Floats{3, 1});
  CHECK(rows.floats(1, "features") == Floats{7, 5});
  CHECK(rows.floats(0, "target") == Floats{-1});
  CHECK(rows.floats(1, "target") == Floats{1});
}

TEST_CASE("a listed column of numbers is categorical, sorted by value") {
  const fs::path table = make_table("categories", "a,y\n10,1\n9,2\n10,3\n");
  const OpenedDataset rows = open(table, {{"categorical", Texts{"a"}}});
  CHECK(rows.describe_fields().front() == "features float32 2");
  CHECK(rows.floats(0, "features") == Floats{0, 1});
  CHECK(rows.floats(1, "features") == Floats{1, 0});
}

TEST_CASE("a missing cell is a category among names, and the mean among numbers on request") {
  const fs::path table = make_table("missing", "a,b,y\n1,x,1\n?,NA,2\n 4 ,x,3\nNA,,4\n,x,5\nNaN,x,6\n");
  CHECK(refusal(table).find(table.string() + ":3: column \"a\": \"?\" is a missing value") == 0);
  const OpenedDataset rows = open(table, {{"missing", "mean"}});
  // Mean 2.5 and deviation 1.5 of the two existing numbers; then the categories "", NA and x.
  const float numbers[] = {-1, 0, 1, 0, 0, 0};
  for (int64_t i = 0; i < 6; ++i) {
    const float x = i == 1 || i == 3 ? 0.0f : 1.0f;
    CHECK(rows.floats(i, "features") == Floats{numbers[i], i == 3 ? 1.0f : 0.0f, i == 1 ? 1.0f : 0.0f, x});
  }
  CHECK(OpenedDataset::log().front().find("; 4 missing numbers replaced by means") != std::string::npos);
  CHECK(open(table, {{"missing", "mean"}, {"standardize", false}}).floats(1, "features")[0] == 2.5f);
}

TEST_CASE("classes are numbered by value if all are integers, else in byte order, or as listed") {
  const fs::path numbers = make_table("class_numbers", "x,y\n1,10\n2,9\n3,-1\n");
  const OpenedDataset by_value = open(numbers, kClassification);
  CHECK(by_value.describe_fields() == Texts{"features float32 1", "label int64"});
  const int64_t labels[] = {2, 1, 0};
  for (int64_t i = 0; i < 3; ++i) CHECK(by_value.integer(i, "label") == labels[i]);
  const fs::path names = make_table("class_names", "x,y\n1,cat\n2,10\n3,9\n");
  CHECK(open(names, kClassification).describe_classes() == Texts{"label: 10, 9, cat"});
  CHECK(open(names, kClassification).integer(0, "label") == 2);
  CHECK(open(names, kClassification).integer(1, "label") == 0);
  const ParamValues listed = with_changes(kClassification, {{"classes", Texts{"cat", "9", "dog", "10"}}});
  CHECK(open(names, listed).integer(1, "label") == 3);
}

TEST_CASE("both parts of a table use the mean and deviation of the training rows") {
  const fs::path table = make_table("parts", make_line(200));
  const OpenedDataset train = open(table, {{"split", "train"}});
  const OpenedDataset validation = open(table, {{"split", "validation"}});
  CHECK(train.size() + validation.size() == 200);
  CHECK(validation.size() > 40);
  CHECK(validation.size() < 80);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < train.size(); ++i) sum += train.floats(i, "target")[0] / 3;
  const double mean = sum / static_cast<double>(train.size());
  for (int64_t i = 0; i < train.size(); ++i) squares += std::pow(train.floats(i, "target")[0] / 3 - mean, 2);
  const double deviation = std::sqrt(squares / static_cast<double>(train.size()));
  CHECK(mean != doctest::Approx(99.5));
  std::set<float> seen;
  for (const OpenedDataset* part : {&train, &validation}) {
    for (int64_t i = 0; i < part->size(); ++i) {
      const float target = part->floats(i, "target")[0];
      CHECK(part->floats(i, "features")[0] == doctest::Approx((target / 3 - mean) / deviation));
      seen.insert(target);
    }
  }
  CHECK(seen.size() == 200);
  // Encodes all rows like a model that was trained on the train split.
  const OpenedDataset all = open(table, {{"statistics_split", "train"}});
  CHECK(all.floats(0, "features")[0] == doctest::Approx(-mean / deviation));
  CHECK(open(table).floats(0, "features")[0] != doctest::Approx(-mean / deviation));
}

TEST_CASE("identical rows are in the same part, and classes have the same numbers in both") {
  std::string text = "x,y\n";
  for (int i = 0; i < 60; ++i) text += std::to_string(i % 20) + ",c" + std::to_string(i % 20) + '\n';
  const fs::path table = make_table("same_rows", text);
  std::set<int64_t> seen[2];
  for (const int part : {0, 1}) {
    const ParamValues split = {{"split", part == 0 ? "train" : "validation"}, {"standardize", false}};
    const OpenedDataset rows = open(table, with_changes(kClassification, split));
    CHECK(rows.size() % 3 == 0);
    Texts names;
    for (int i = 0; i < 20; ++i) names.push_back('c' + std::to_string(i));
    std::sort(names.begin(), names.end());
    for (int64_t i = 0; i < rows.size(); ++i) {
      const int64_t label = rows.integer(i, "label");
      CHECK(names[static_cast<size_t>(label)] ==
            'c' + std::to_string(static_cast<int>(rows.floats(i, "features").front())));
      seen[part].insert(label);
    }
  }
  CHECK(seen[0].size() + seen[1].size() == 20);
}

TEST_CASE("groups are numbered by name, are no feature, and are in one split") {
  std::string text = "patient,x,y\n";
  for (int i = 0; i < 60; ++i) text += "p" + std::to_string(i % 12) + ',' + std::to_string(i) + ",1\n";
  const fs::path table = make_table("groups", text);
  const ParamValues group = {{"group", "patient"}, {"standardize", false}};
  const OpenedDataset rows = open(table, group);
  CHECK(rows.describe_fields() == Texts{"features float32 1", "target float32 1", "group int64"});
  // p0, p1, p10, p11, p2, ...
  CHECK(rows.integer(0, "group") == 0);
  CHECK(rows.integer(2, "group") == 4);
  CHECK(rows.integer(10, "group") == 2);
  CHECK(rows.integer(22, "group") == 2);
  std::set<int> seen[2];
  size_t samples = 0;
  for (const int part : {0, 1}) {
    const OpenedDataset split = open(table, with_changes(group, {{"split", part == 0 ? "train" : "validation"}}));
    samples += static_cast<size_t>(split.size());
    for (int64_t i = 0; i < split.size(); ++i)
      seen[part].insert(static_cast<int>(split.floats(i, "features").front()) % 12);
  }
  CHECK(samples == 60);
  CHECK(seen[0].size() + seen[1].size() == 12);
  // Rows to predict need no group.
  const fs::path unknown = make_table("no_groups", "x\n5\n");
  const ParamValues prediction = {{"statistics_from", table.string()}, {"with_target", false}};
  CHECK(open(unknown, with_changes(group, prediction)).describe_fields() == Texts{"features float32 1"});
}

TEST_CASE("another table uses columns, categories, classes and statistics of the training table") {
  const fs::path training = make_table("training", "a,b,y,n\nred,1,u,x\nblue,3,w,x\n");
  const fs::path other = make_table("other", "n,y,b,a\nx,w,5,blue\nx,u,1,green\n");
  const ParamValues params =
      with_changes(kClassification, {{"ignore", Texts{"n"}}, {"statistics_from", training.string()}});
  const OpenedDataset rows = open(other, params);
  CHECK(rows.floats(0, "features") == Floats{1, 0, 3});
  CHECK(rows.floats(1, "features") == Floats{0, 0, -1});
  CHECK(OpenedDataset::log().back() == other.string() +
                                           ": 1 cell has a category that no training row has, such as a \"green\", "
                                           "which become zeros; expected only categories of the training rows");
  CHECK(rows.integer(0, "label") == 1);
  const fs::path strange = make_table("strange", "a,b,y\nred,1,v\n");
  CHECK(refusal(strange, params)
            .find(strange.string() + ":2: column \"y\": \"v\" is none of the 2 classes that " + training.string() +
                  " contains; list all classes") == 0);
  const fs::path less = make_table("less", "a,y\nred,u\n");
  CHECK(refusal(less, params) == less.string() + ":1: there is no column \"b\", which is a feature of " +
                                     training.string() + "; expected all of its features");
}

TEST_CASE("another table uses what the training data derived, without their file") {
  const fs::path training = make_table("fitted", "a,b,y\nred,1,10\nblue,3,w\nred,8,u\n");
  const fs::path other = make_table("fitted_other", "n,y,b,a\nx,w,5,blue\nx,u,1,green\n");
  const ParamValues with_source = with_changes(kClassification, {{"statistics_from", training.string()}});
  const OpenedDataset trained = open(training, kClassification), expected = open(other, with_source);
  const std::string fitted = trained.fitted_data();
  CHECK(expected.fitted_data() == fitted);
  fs::rename(training, training.string() + ".moved");
  for (const ParamValues& changes : {kClassification, with_source}) {
    const OpenedDataset rows(kPlugin, make_params(other, changes), fitted);
    CHECK(rows.fitted_data() == fitted);
    CHECK(rows.describe_fields() == expected.describe_fields());
    CHECK(rows.describe_classes() == expected.describe_classes());
    for (int64_t i = 0; i < rows.size(); ++i) {
      CHECK(rows.floats(i, "features") == expected.floats(i, "features"));
      CHECK(rows.integer(i, "label") == expected.integer(i, "label"));
    }
  }
  CHECK(open(other, with_changes(kClassification, {{"ignore", Texts{"n"}}})).fitted_data() != fitted);
  // Rows to predict need no target.
  const fs::path unknown = make_table("fitted_unknown", "b,a\n5,blue\n");
  const OpenedDataset rows(kPlugin, make_params(unknown, with_changes(kClassification, {{"with_target", false}})),
                           fitted);
  CHECK(rows.floats(0, "features") == expected.floats(0, "features"));
}

TEST_CASE("the target of another table is scaled as that of the training data") {
  const fs::path training = make_table("scaled", make_line(20));
  const fs::path other = make_table("scaled_other", "y,x\n30,10\n");
  const ParamValues scaled = {{"standardize_target", true}};
  const OpenedDataset trained = open(training, scaled);
  const OpenedDataset rows(kPlugin, make_params(other, scaled), trained.fitted_data());
  CHECK(rows.floats(0, "features") == trained.floats(10, "features"));
  CHECK(rows.floats(0, "target") == trained.floats(10, "target"));
}

TEST_CASE("parameters that contradict the training data are refused") {
  const fs::path training = make_table("contradicted", "a,b,c,y\nred,1,2,u\nblue,3,5,w\n");
  const fs::path other = make_table("contradicting", "c,b,a,y\n7,5,blue,w\n1,2,red,u\n");
  const ParamValues given = with_changes(kClassification, {{"ignore", Texts{"c"}}});
  const std::string fitted = open(training, given).fitted_data();
  const auto refused = [&](const ParamValues& changes) {
    return error_of<Refused>(
        [&] { const OpenedDataset rows(kPlugin, make_params(other, with_changes(given, changes)), fitted); });
  };
  CHECK(refused({}) == "");
  CHECK(refused({{"standardize", false}}) == "standardize is false, and true for the training data; expected the same");
  CHECK(refused({{"features", Texts{"b", "a"}}}) ==
        "parameter \"features\" names \"b\", \"a\", and the training data have \"a\", \"b\"; expected the same as "
        "for the training data");
  CHECK(refused({{"ignore", Texts{"a"}}}).find("parameter \"ignore\" names \"a\", and the training data have it") == 0);
  CHECK(refused({{"categorical", Texts{"b"}}})
            .find("parameter \"categorical\" names \"b\", and the training data have \"a\"") == 0);
  CHECK(refused({{"statistics_from", training.string()}}) == "");
  CHECK(refused({{"statistics_from", other.string()}})
            .find("statistics_from = " + other.string() + ": has other columns, categories, classes, means or ") == 0);
  CHECK(refused({{"classes", Texts{"w", "u"}}}) == "");  // the host translates their numbers
  CHECK(error_of<Refused>([&] {
          const OpenedDataset rows(kPlugin, make_params(other, given), fitted + "x");
        }).find("the saved columns and statistics of the training data cannot be read") == 0);
}

TEST_CASE("rows without a target have only features") {
  const fs::path training = make_table("with_target", "x,y\n1,10\n3,20\n");
  const fs::path table = make_table("without_target", "x\n5\n");
  const ParamValues params = {{"statistics_from", training.string()}, {"with_target", false}};
  const OpenedDataset rows = open(table, params);
  CHECK(rows.describe_fields() == Texts{"features float32 1"});
  CHECK(rows.floats(0, "features") == Floats{3});
  const std::string missing = table.string() + ":1: there is no column \"y\", which the parameter \"target\" names";
  CHECK(refusal(table, {{"statistics_from", training.string()}}).find(missing) == 0);
  CHECK(refusal(table, {{"with_target", false}}).find(missing) == 0);
}

TEST_CASE("errors in a table of features are refused with file, line and column") {
  CHECK(complaint("x,y\n1,2\n1o,3\n") ==
        "3: column \"x\": \"1o\" is not a finite 32-bit number; fix the cell, or list the column in the parameter "
        "\"categorical\" or \"ignore\"");
  // Decimal commas, units, dates and numbers that are too large are not names either.
  for (const std::string cell : {"\"3,5\"", "12 kg", "2026-05-01", "1e39", "-1.2.3"}) {
    CHECK(complaint("x,y\n" + cell + ",2\n" + cell + ",3\n").find("2: column \"x\": \"") == 0);
  }
  CHECK(complaint("x,y\n1,2\nlow,3\n").find("3: column \"x\": \"low\" is not a finite 32-bit number") == 0);
  CHECK(complaint("x,y\n1,2\n3,\n").find("3: column \"y\": \"\" is not a finite 32-bit number") == 0);
  CHECK(complaint("x,y\n1,a\n3,\n", kClassification).find("3: column \"y\" is empty; expected the name of a class") ==
        0);
  CHECK(complaint("x,z,y\n,1,2\nNA,1,3\n").find(" column \"x\" has no value in the training rows") == 0);
  CHECK(complaint("x,y\na,2\nb,3\n", {{"max_categories", int64_t{1}}}) ==
        " column \"x\" has 2 categories in the training rows; expected at most 1; list it in the parameter \"ignore\", "
        "or raise max_categories");
  CHECK(complaint("y\n1\n").find("1: no column is left besides the target") == 0);
  CHECK(complaint("x,y,g\n1,2,a\n3,4,\n", {{"group", "g"}}) ==
        "3: column \"g\" is empty; expected the name of a group");
  CHECK(complaint("x,y\n1,2\n", {{"split", "validation"}, {"validation_fraction", 1e-9}})
            .find(" none of its samples falls into the split \"validation\"") == 0);
  CHECK(complaint("x,y\n1,2\n3,u\n", with_changes(kClassification, {{"classes", Texts{"u", "v"}}}))
            .find("2: column \"y\": \"2\" is none of the 2 classes that the parameter \"classes\" lists") == 0);
}

TEST_CASE("missing targets and classes of equal value are refused") {
  for (const std::string missing : {"nan", "NaN", "NA", "?", "N/A"}) {
    const std::string text = "x,y\n1,a\n2,b\n3," + missing + "\n";
    CHECK(complaint(text, kClassification) ==
          "4: column \"y\" is a missing value, " + missing +
              "; expected the name of a class: remove the row, or list all names in "
              "the parameter \"classes\" if this is one");
    CHECK(open(make_table("listed", text), with_changes(kClassification, {{"classes", Texts{"a", "b", missing}}}))
              .integer(2, "label") == 2);
    CHECK(complaint("x,y\n1,a|b\n2," + missing + "\n", with_changes(kClassification, {{"label_separator", "|"}}))
              .find("3: column \"y\" is a missing value") == 0);
  }
  CHECK(open(make_table("none", "x,y\n1,a\n2,None\n"), kClassification).describe_classes() == Texts{"label: None, a"});
  CHECK(OpenedDataset::log()[0].find("\"None\" (line 3) is a class; if it is a missing value") != std::string::npos);
  CHECK(complaint("x,y\n1,1\n2,2\n3,1.0\n", kClassification) ==
        " column \"y\": \"1\" (line 2) and \"1.0\" (line 4) are the same value, and would be two classes; expected one "
        "text for each class: write it the same way everywhere, or list all names in the parameter \"classes\" if they "
        "are two classes");
  CHECK(complaint("x,y\n1,True\n2,False\n3,true\n", kClassification).find("\"True\" (line 2) and \"true\" (line 4)") !=
        std::string::npos);
  CHECK(open(make_table("both", "x,y\n1,1\n2,1.0\n"), with_changes(kClassification, {{"classes", Texts{"1", "1.0"}}}))
            .integer(1, "label") == 1);
  CHECK(open(make_table("case", "x,y\n1,Cat\n2,cat\n"), kClassification).size() == 2);
  CHECK(OpenedDataset::log()[0].find("the classes \"Cat\" (line 2) and \"cat\" (line 3) differ only in case") !=
        std::string::npos);
}

TEST_CASE("a column in which most rows have another class is reported") {
  const auto warns = [](int classes, int rows) {
    std::string text = "x,y\n";
    for (int i = 0; i < rows; ++i) text += std::to_string(i) + ",a" + std::to_string(i % classes) + "\n";
    CHECK(open(make_table("many", text), kClassification).size() == rows);
    const std::string expected = "has " + std::to_string(classes) + " classes in " + std::to_string(rows) +
                                 " rows; expected several rows of each";
    return std::ranges::any_of(OpenedDataset::log(),
                               [&](const std::string& line) { return line.find(expected) != line.npos; });
  };
  CHECK(warns(20, 39));
  CHECK(!warns(20, 40));
  CHECK(!warns(19, 19));
}

TEST_CASE("several classes of a row have the order of the training data") {
  const ParamValues params = with_changes(kClassification, {{"label_separator", "|"}});
  const OpenedDataset trained = open(make_table("marks", "x,y\n1,a|b\n2,c\n"), params);
  const fs::path other = make_table("other_marks", "x,y\n1,c|b\n");
  CHECK(OpenedDataset(kPlugin, make_params(other, params), trained.fitted_data()).floats(0, "label") ==
        Floats{0, 1, 1});
  const std::string refused = error_of<Refused>([&] {
    OpenedDataset(kPlugin, make_params(other, with_changes(params, {{"classes", Texts{"c", "a", "b"}}})),
                  trained.fitted_data());
  });
  CHECK(refused.find("has c, a, b, and the training data have a, b, c; expected the same classes in the same order") !=
        std::string::npos);
}

TEST_CASE("missing columns and contradictory parameters are refused") {
  for (const std::string parameter : {"features", "ignore", "categorical"}) {
    CHECK(complaint("x,y\n1,2\n", {{parameter, Texts{"z"}}}) ==
          "1: there is no column \"z\", which the parameter \"" + parameter + "\" names; available: \"x\", \"y\"");
  }
  CHECK(
      complaint("x,y\n1,2\n", {{"target", "z"}}).find("1: there is no column \"z\", which the parameter \"target\"") ==
      0);
  const fs::path table = make_table("contradiction", "a,b,y\n1,2,3\n");
  CHECK(refusal(table, {{"features", Texts{"a", "y"}}}) ==
        "parameter \"features\" names the column \"y\", which is the target; expected other columns");
  CHECK(refusal(table, {{"group", "z"}}).find(":1: there is no column \"z\", which the parameter \"group\" names") !=
        std::string::npos);
  CHECK(refusal(table, {{"group", "y"}}) ==
        "parameter \"group\" names the column \"y\", which is the target; expected another column");
  CHECK(refusal(table, {{"features", Texts{"a"}}, {"group", "a"}}) ==
        "parameter \"features\" names the column \"a\", and so does \"group\"; expected it in one of them");
  CHECK(refusal(table, {{"features", Texts{"a", "a"}}}) ==
        "parameter \"features\" names the column \"a\" twice; expected each column once");
  CHECK(refusal(table, {{"features", Texts{"a"}}, {"ignore", Texts{"a"}}}) ==
        "parameter \"features\" names the column \"a\", and so does \"ignore\"; expected it in one of them");
  CHECK(refusal(table, {{"ignore", Texts{"a"}}, {"categorical", Texts{"a"}}}) ==
        "parameter \"categorical\" names the column \"a\", which is not a feature; expected one of the features");
  CHECK(refusal(table, {{"classes", Texts{"a"}}}).find("\"classes\" is set, and task is \"regression\"") !=
        std::string::npos);
  CHECK(refusal(table, with_changes(kClassification, {{"standardize_target", true}}))
            .find("standardize_target is true") == 0);
}

TEST_CASE("classes, categories and groups that are numbers are sorted by value, also with fractions") {
  const fs::path table = make_table("values", "x,g,y\n1,10,10.0\n2,9,2.0\n3,10,-1.0\n");
  const OpenedDataset rows = open(table, with_changes(kClassification, {{"group", "g"}, {"categorical", Texts{"x"}}}));
  CHECK(rows.describe_classes() == Texts{"label: -1.0, 2.0, 10.0"});
  CHECK(rows.integer(0, "label") == 2);
  CHECK(rows.integer(1, "group") == 0);
  CHECK(complaint("x,y\n1,0\n2,1\n", with_changes(kClassification, {{"classes", Texts{"0.0", "1.0"}}}))
            .ends_with("\"0.0\" has the same value: write it the same way"));
}

TEST_CASE("blanks around categories do not make categories, and are reported") {
  const fs::path table = make_table("blanks", "day,y\n Sunday,1\nSunday,2\nMonday ,3\n");
  const OpenedDataset rows = open(table);
  CHECK(rows.describe_fields()[0] == "features float32 2");
  REQUIRE(OpenedDataset::log().size() == 2);
  CHECK(OpenedDataset::log()[0].find(
            "column \"day\": 2 names have blanks around them, such as \" Sunday\", \"Monday \"") != std::string::npos);
  CHECK(rows.floats(0, "features") == rows.floats(1, "features"));
}

TEST_CASE("numbers written as text are no categories") {
  for (const std::string cell : {"$10",
                                 "\"$1,200\"",
                                 "(12)",
                                 "<5",
                                 ">=5",
                                 "~7",
                                 "\xE2\x82\xAC"
                                 "9",
                                 "\xE2\x89\xA4"
                                 "3",
                                 "$ 10.5",
                                 "US$10",
                                 "\u20BD10",
                                 "\u20A910",
                                 "#10",
                                 "\"=\"\"10\"\"\"",
                                 "[10]",
                                 "~5k",
                                 "<0-5",
                                 "\uFF11\uFF12",
                                 "\u0661\u0662",
                                 "\u00BD",
                                 "-inf"}) {
    CAPTURE(cell);
    CHECK(complaint("x,y\n" + cell + ",2\n" + cell + ",3\n").find("2: column \"x\": \"") == 0);
    const fs::path table = make_table("listed", "x,y\n" + cell + ",2\n" + cell + ",3\n");
    CHECK(open(table, {{"categorical", Texts{"x"}}}).describe_fields()[0] == "features float32 1");
  }
  for (const std::string name :
       {"#1 hit", "(second)", "$HOME", "<none>", "A10", "-", "\"(0, 10]\"", "EUR 10", "\u00E91"})
    CHECK(open(make_table("names", "x,y\n" + name + ",2\n" + name + ",3\n")).describe_fields()[0] ==
          "features float32 1");
}

TEST_CASE("a column of texts with digits of which most differ is reported") {
  std::string prices = "x,y\n", sizes = "x,y\n";
  for (int i = 0; i < 40; ++i) {
    prices += "EUR " + std::to_string(i) + ",1\n";
    sizes += "size " + std::to_string(i % 19) + ",1\n";
  }
  const fs::path table = make_table("prices", prices);
  CHECK(open(table).describe_fields()[0] == "features float32 40");
  REQUIRE(OpenedDataset::log().size() == 2);
  CHECK(OpenedDataset::log()[0].find("column \"x\" has 40 categories in the training rows, such as \"EUR 0\"; if they "
                                     "are numbers, write them without other signs and letters") != std::string::npos);
  CHECK(refusal(table, {{"max_categories", int64_t{30}}}).find("if they are numbers, write them") != std::string::npos);
  open(table, {{"categorical", Texts{"x"}}});
  CHECK(OpenedDataset::log().size() == 1);
  open(make_table("sizes", sizes));
  CHECK(OpenedDataset::log().size() == 1);
}

TEST_CASE("the index of pandas is no feature, and named with the fix") {
  const fs::path table = make_table("index", ",a,y\n3,1,2\n0,2,3\n7,4,5\n");
  CHECK(open(table).describe_fields()[0] == "features float32 1");
  REQUIRE(OpenedDataset::log().size() == 2);
  CHECK(OpenedDataset::log()[0].find("as the index of pandas does; it is not read; write a table of pandas with "
                                     "to_csv(..., index=False)") != std::string::npos);
  const fs::path again = make_table("index_again", "Unnamed: 0,a,y\n0,1,2\n1,2,3\n");
  CHECK(open(again).describe_fields()[0] == "features float32 1");
  CHECK(OpenedDataset::log()[0].find("index=False") != std::string::npos);
  CHECK(open(make_table("trailing", "a,y,Unnamed: 2\n1,2,\n2,3,\n")).describe_fields()[0] == "features float32 1");
  CHECK(OpenedDataset::log()[0].find(
            "\"Unnamed: 2\" had no name when pandas read it, as after a separator at the end") != std::string::npos);
  CHECK(open(again, {{"features", Texts{"Unnamed: 0", "a"}}}).describe_fields()[0] == "features float32 2");
  CHECK(complaint(",a,y\nx,1,2\nz,2,3\n").find("1: column 1 has no name, and does not number the rows") == 0);
  CHECK(complaint(",a,y\n1,1,2\n1,2,3\n").find("1: column 1 has no name, and does not number the rows") == 0);
}

TEST_CASE("several classes of a row are multi-hot targets, or refused") {
  const fs::path table = make_table("tags", "x,y\n1,cat|odd\n2,cat\n3,\n");
  CHECK(refusal(table, kClassification).find("\"cat|odd\" lists several classes") != std::string::npos);
  const OpenedDataset rows = open(table, with_changes(kClassification, {{"label_separator", "|"}}));
  CHECK(rows.describe_fields() == Texts{"features float32 1", "label float32 2"});
  CHECK(rows.floats(0, "label") == Floats{1, 1});
  CHECK(rows.floats(1, "label") == Floats{1, 0});
  CHECK(rows.floats(2, "label") == Floats{0, 0});
  // The classes are those of the training table.
  const fs::path other = make_table("other_tags", "x,y\n1,odd\n");
  const OpenedDataset validation =
      open(other, with_changes(kClassification, {{"label_separator", "|"}, {"statistics_from", table.string()}}));
  CHECK(validation.floats(0, "label") == Floats{0, 1});
  const fs::path columns = make_table("columns", "x,y,z\n1,0,1\n2,1,1\n");
  const OpenedDataset two = open(columns, {{"more_targets", Texts{"z"}}});
  CHECK(two.describe_fields() == Texts{"features float32 1", "target float32 2"});
  CHECK(two.floats(0, "target") == Floats{0, 1});
  CHECK(two.floats(1, "target") == Floats{1, 1});
  CHECK(refusal(columns, with_changes(kClassification, {{"more_targets", Texts{"z"}}}))
            .find("\"more_targets\" is set, and task is") != std::string::npos);
  CHECK(refusal(columns, {{"label_separator", "|"}}).find("\"label_separator\" is set, and task is") !=
        std::string::npos);
}

}  // namespace table_test
