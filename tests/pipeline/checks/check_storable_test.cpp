#include "framework/pipeline/build/check_storable.h"

#include "tests/doctest_with_torch.h"
#include "tests/messages.h"

using namespace tenon::pipeline;

namespace {

std::string refusal_of(const std::string& name, const at::Tensor& tensor) {
  return tenon::find_error(tenon::support::ErrorKind::plugin, [&] {
    check_storable({{"fine", torch::zeros({2}), true}, {name, tensor, false}}, "run.toml:2:7: the model");
  });
}

}  // namespace

TEST_CASE("every dtype that checkpoints support is accepted") {
  for (const at::ScalarType type : {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16,
                                    at::kFloat, at::kDouble, at::kBool}) {
    CAPTURE(c10::toString(type));
    CHECK(refusal_of("größe.0", torch::zeros({3}, type)) == "accepted");
  }
}

TEST_CASE("a dtype that checkpoints do not support is refused with tensor, found and expected") {
  CHECK(
      refusal_of("phase", torch::zeros({3}, at::kComplexFloat)) ==
      "run.toml:2:7: the model: the tensor \"phase\": its dtype is complex64, which a checkpoint cannot hold; expected "
      "uint8/int8/int16/int32/int64/float16/bfloat16/float32/float64/bool; convert it, or do not register it with the "
      "model");
  CHECK(refusal_of("phase", torch::zeros({3}, at::kComplexDouble)).find("complex128") != std::string::npos);
  CHECK(refusal_of("count", torch::empty({3}, at::kUInt16)).find("its dtype is UInt16") != std::string::npos);
}

TEST_CASE("a sparse tensor is refused") {
  CHECK(refusal_of("adjacency", torch::eye(3).to_sparse()).find("its layout is Sparse, which a checkpoint cannot") !=
        std::string::npos);
}

TEST_CASE("a name that checkpoints do not support is refused") {
  const at::Tensor tensor = torch::zeros({3});
  CHECK(refusal_of("__metadata__", tensor).find("\"__metadata__\": the format reserves this name; expected") !=
        std::string::npos);
  CHECK(refusal_of("gr\xF6\xDF"
                   "e",
                   tensor)
            .find("the name is not UTF-8; expected") != std::string::npos);
}
