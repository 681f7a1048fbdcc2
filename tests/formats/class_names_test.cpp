#include "framework/formats/class_names.h"

#include <doctest/doctest.h>

namespace class_names_test {

using namespace formats;
using Names = std::vector<std::string>;

TEST_CASE("names that are numbers are sorted by value, and others by bytes") {
  CHECK(sort_names({"10", "2", "-1", "2"}) == Names{"-1", "2", "10"});
  CHECK(sort_names({"10.0", "1.0", "2.5", "-3"}) == Names{"-3", "1.0", "2.5", "10.0"});
  CHECK(sort_names({"1e3", "+5", "007"}) == Names{"+5", "007", "1e3"});
  CHECK(sort_names({"1", "01", "1.0"}) == Names{"01", "1", "1.0"});
  // Doubles would not distinguish these.
  CHECK(sort_names({"9007199254740993", "9007199254740992"}) == Names{"9007199254740992", "9007199254740993"});
  CHECK(sort_names({"10", "2", "b"}) == Names{"10", "2", "b"});
  CHECK(sort_names({"nan", "2", "10"}) == Names{"10", "2", "nan"});
  CHECK(sort_names({}).empty());
}

TEST_CASE("names of equal value and names of another case are found") {
  const auto equal = [](const Names& names) {
    const auto found = find_equal_names(names);
    return found ? found->first + " " + found->second : "";
  };
  CHECK(equal({"1", "2", "1.0"}) == "1 1.0");
  CHECK(equal({"cat", "1", "01"}) == "1 01");
  CHECK(equal({"+5", "5"}) == "+5 5");
  CHECK(equal({"False", "True", "TRUE"}) == "True TRUE");
  CHECK(equal({"1", "2", "1"}).empty());
  CHECK(equal({"9007199254740993", "9007199254740992"}).empty());
  CHECK(equal({"True", "False", "nan", "NaN", "Cat", "cat"}).empty());
  const auto other_case = find_names_of_other_case({"dog", "Cat", "cat"});
  REQUIRE(other_case);
  CHECK(other_case->first + other_case->second == "Catcat");
  CHECK(!find_names_of_other_case({"cat", "dog", "cat"}));
}

TEST_CASE("values that are missing are no classes") {
  for (const char* text : {"", "?", "NA", "NaN", "nan", "<NA>", "N/A"}) CHECK(is_missing_value(text));
  for (const char* text : {"None", "none", "Nan", "0", "na"}) CHECK(!is_missing_value(text));
}

TEST_CASE("the order as text is only given if it differs") {
  CHECK(sort_numbers_as_text({"0", "2", "10"}) == Names{"0", "10", "2"});
  CHECK(!sort_numbers_as_text({"0", "1", "2"}));
  CHECK(!sort_numbers_as_text({"b", "a"}));
}

TEST_CASE("long lists of names are shortened") {
  CHECK(list_briefly({"a", "b"}) == "a, b");
  CHECK(list_briefly({"0", "1", "2", "3", "4", "5"}) == "0, 1, 2, 3, 4, 5");
  CHECK(list_briefly({"0", "1", "2", "3", "4", "5", "6", "7"}) == "0, 1, 2, 3, 4, ..., 7");
}

TEST_CASE("names that list several classes are found") {
  const auto found = [](const Names& names) {
    const auto listed = find_listed_classes(names);
    return listed ? listed->name + ' ' + listed->separator : "";
  };
  CHECK(found({"cat", "cat|dog"}) == "cat|dog |");
  CHECK(found({"cat|dog", "dog|owl"}) == "cat|dog |");
  CHECK(found({"cat; dog", "dog"}) == "cat; dog ;");
  CHECK(found({"0|2"}) == "0|2 |");
  CHECK(found({"[0, 2]", "[1]"}) == "[0, 2] ,");
  CHECK(found({"1 3"}) == "1 3  ");
  CHECK(found({"['cat', 'odd']", "['dog']"}) == "['cat', 'odd'] ,");
  CHECK(found({R"(["cat","odd"])"}) == R"(["cat","odd"] ,)");
  CHECK(found({"['cat' 'odd']"}) == "['cat' 'odd']  ");
  CHECK(found({"{cat,odd}", "{cat}", "{odd}"}) == "{cat,odd} ,");
  CHECK(found({"cat", "cat,odd", "odd"}) == "cat,odd ,");
  CHECK(found({"cat", "cat/odd", "odd"}) == "cat/odd /");
  CHECK(found({"cat", "cat odd", "odd"}) == "cat odd  ");
  CHECK(found({"['cat']", "['dog']", "['cat, black']", "dog (old)", "(dog) (owl)"}).empty());
  CHECK(found({"cat/odd", "1/2", "cat"}).empty());
  CHECK(found({"a|b", "c"}).empty());
  CHECK(found({"ice cream", "cream"}).empty());
  CHECK(found({"Salmon, fresh", "Salmon, smoked", "Salmon"}).empty());
  CHECK(found({"1", "2", "1.5"}).empty());
}

TEST_CASE("a cell is split into clean parts") {
  CHECK(split_classes(" cat | dog||", "|") == Names{"cat", "dog"});
  CHECK(split_classes("", "|").empty());
  CHECK(split_classes("a, b", ", ") == Names{"a", "b"});
  CHECK(split_classes(" ['cat', \"odd\"] ", ",") == Names{"cat", "odd"});
  CHECK(split_classes("(a)|(b)", "|") == Names{"(a)", "(b)"});
  CHECK(split_classes("'", ",") == Names{"'"});
  CHECK(split_classes("[]", ",").empty());
}

TEST_CASE("changes of names are counted, with up to three examples") {
  NameCleaner cleaner;
  for (const char* name : {"a", " b", "b", "c ", " b", "d ", "e "}) cleaner.clean(name);
  CHECK(cleaner.describe_changes() ==
        "5 names have blanks around them, such as \" b\", \"c \", \"d \"; each is read as the name without blanks");
  CHECK(NameCleaner().describe_changes().empty());
}

}  // namespace class_names_test
