#include "framework/profiling/operator_log.h"

#include "tests/doctest_with_torch.h"

using namespace tenon::profiling;

namespace {

std::vector<std::string> modules_of(std::vector<std::string> modules) {
  std::vector<LoggedOperator> operators;
  for (const std::string& module : modules) operators.push_back({"aten::relu", module});
  complete_modules(operators);
  for (size_t i = 0; i < modules.size(); ++i) modules[i] = operators[i].module;
  return modules;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("an operator belongs to the module of its input tensor or of a view of it") {
  const at::Tensor weight = torch::rand({6, 4}), bias = torch::rand({6}), x = torch::rand({2, 4});
  const OperatorLog log({{"head.linear.weight", weight, true}, {"scale", bias, true}});
  torch::linear(x, weight);
  torch::mm(x, weight.t());
  bias.mul(2);
  x.relu();
  REQUIRE(log.operators().size() >= 5);
  CHECK(log.operators()[0].name == "aten::linear");
  CHECK(log.operators()[0].module == "head.linear");
  CHECK(log.operators()[1].name == "aten::t");
  CHECK(log.operators()[2].name == "aten::mm");
  CHECK(log.operators()[2].module == "head.linear");
  CHECK(log.operators()[3].name == "aten::mul");
  CHECK(log.operators()[3].module == "");
  CHECK(log.operators()[4].name == "aten::relu");
  CHECK(log.macs() == 2 * 2 * 4 * 6);
}

TEST_CASE("a destroyed log records nothing more, and a new one can start") {
  const at::Tensor x = torch::rand({2, 2});
  {
    const OperatorLog log({});
    torch::mm(x, x);
    CHECK(log.macs() == 8);
  }
  torch::mm(x, x);
  const OperatorLog log({});
  CHECK(log.operators().empty());
}

TEST_CASE("operators between two modules belong to the innermost module that contains both") {
  CHECK(modules_of({"block.attention.query", "", "", "block.attention.output"}) ==
        Names{"block.attention.query", "block.attention", "block.attention", "block.attention.output"});
  CHECK(modules_of({"a.b", "", "a.b"}) == Names{"a.b", "a.b", "a.b"});
  CHECK(modules_of({"a.b", "", "a.b.c"}) == Names{"a.b", "a.b", "a.b.c"});
  CHECK(modules_of({"layer1.0", "", "layer10.0"}) == Names{"layer1.0", "", "layer10.0"});
}

TEST_CASE("operators before the first and after the last module belong to that module") {
  CHECK(modules_of({"", "a.b", "", ""}) == Names{"a.b", "a.b", "a.b", "a.b"});
  CHECK(modules_of({"", ""}) == Names{"", ""});
}
