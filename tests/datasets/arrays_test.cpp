// Tests the built plugin through the C table that the host uses.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"
#include "tests/datasets/written_tar.h"

namespace arrays_test {

namespace fs = std::filesystem;

namespace {

const std::string kPlugin = TENON_BINARY_DIR "/plugins/arrays.so";

using Texts = std::vector<std::string>;
using Bytes = std::vector<uint8_t>;

std::string header(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

Bytes make_safetensors(const std::string& header, const Bytes& data) {
  Bytes file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<uint8_t>(header.size() >> (8 * i)));
  std::copy(header.begin(), header.end(), std::back_inserter(file));
  std::copy(data.begin(), data.end(), std::back_inserter(file));
  return file;
}

std::string repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

OpenedDataset open(const fs::path& path, const Texts& fields = {}) {
  return OpenedDataset(kPlugin, {{"path", path.string()}, {"fields", fields}});
}

std::string refusal(const fs::path& path, const Texts& fields = {}) {
  return error_of<Refused>([&] { open(path, fields); });
}

// Returns the error message for a file, without its path.
std::string complaint(const std::string& name, const Bytes& file) {
  const fs::path path = make_empty_folder("refused_array") / name;
  write_file(path, file);
  const std::string text = refusal(path);
  REQUIRE(text.find(path.string() + ": ") == 0);
  return text.substr(path.string().size() + 2);
}

const Bytes kSix = bytes_of<float>({0, 1, 2, 3, 4, 5});

}  // namespace

TEST_CASE("each .npy file of a folder becomes a field, and each row a sample") {
  const fs::path folder = make_empty_folder("npy");
  write_file(folder / "image.npy", make_npy(header("<f4", "(3, 1, 2)"), kSix));
  write_file(folder / "label.npy", make_npy(header("<i8", "(3,)"), bytes_of<int64_t>({7, -8, 9})));
  write_file(folder / "notes.txt", {1});
  const OpenedDataset arrays = open(folder);
  CHECK(arrays.size() == 3);
  CHECK(arrays.describe_fields() == Texts{"image float32 1,2", "label int64"});
  CHECK(arrays.floats(2, "image") == std::vector<float>{4, 5});
  CHECK(arrays.integer(1, "label") == -8);
  CHECK(open(folder, {"label"}).describe_fields() == Texts{"label int64"});
  CHECK(open(folder / "image.npy").describe_fields() == Texts{"image float32 1,2"});
}

// The host converts them to what a model or a loss takes.
TEST_CASE("features, targets and labels have the dtypes of their files") {
  struct Form {
    std::string descr, dtype;
    Bytes three;  // 0, 1, 1 in each dtype
  };
  const std::vector<Form> forms = {{"<f8", "float64", bytes_of<double>({0, 1, 1})},
                                   {"<f2", "float16", bytes_of<uint16_t>({0, 0x3C00, 0x3C00})},
                                   {"<i4", "int32", bytes_of<int32_t>({0, 1, 1})},
                                   {"|u1", "uint8", {0, 1, 1}},
                                   {"|b1", "bool", {0, 1, 1}}};
  for (const Form& form : forms) {
    CAPTURE(form.dtype);
    const fs::path folder = make_empty_folder("npy_dtypes");
    for (const char* name : {"features", "targets"})
      write_file(folder / (name + std::string(".npy")), make_npy(header(form.descr, "(3, 1)"), form.three));
    write_file(folder / "labels.npy", make_npy(header(form.descr, "(3,)"), form.three));
    const OpenedDataset arrays = open(folder);
    CHECK(arrays.describe_fields() ==
          Texts{"features " + form.dtype + " 1", "labels " + form.dtype, "targets " + form.dtype + " 1"});
    const size_t bytes = form.three.size() / 3;
    for (int64_t row = 0; row < 3; ++row) {
      for (const char* name : {"features", "labels", "targets"}) {
        const auto begin = form.three.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(row) * bytes);
        CHECK(arrays.bytes(row, name) == Bytes(begin, begin + static_cast<std::ptrdiff_t>(bytes)));
      }
    }
  }
}

TEST_CASE("a header in another order and a later version of the format are read") {
  const fs::path folder = make_empty_folder("npy_versions");
  const Bytes file = make_npy("{'shape': (2,3), 'fortran_order': False, 'descr': '<f4'}", kSix);
  write_file(folder / "one.npy", file);
  Bytes later(file.begin(), file.begin() + 10);
  later[6] = 2;
  later.resize(12);  // now the header's length takes four bytes
  std::copy(file.begin() + 10, file.end(), std::back_inserter(later));
  write_file(folder / "two.npy", later);
  const OpenedDataset arrays = open(folder);
  CHECK(arrays.describe_fields() == Texts{"one float32 3", "two float32 3"});
  CHECK(arrays.floats(1, "one") == std::vector<float>{3, 4, 5});
  CHECK(arrays.floats(1, "two") == std::vector<float>{3, 4, 5});
}

TEST_CASE("each tensor of a safetensors file becomes a field") {
  const fs::path path = make_empty_folder("safetensors") / "a.safetensors";
  Bytes data = kSix;
  std::ranges::copy(bytes_of<int64_t>({5, 6}), std::back_inserter(data));
  write_file(path,
             make_safetensors(R"({"__metadata__":{"a":"b"},"y":{"dtype":"I64","shape":[2],"data_offsets":[24,40]},)"
                              R"("x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})",
                              data));
  const OpenedDataset arrays = open(path);
  CHECK(arrays.size() == 2);
  CHECK(arrays.describe_fields() == Texts{"x float32 3", "y int64"});
  CHECK(arrays.floats(1, "x") == std::vector<float>{3, 4, 5});
  CHECK(arrays.integer(0, "y") == 5);
  CHECK(open(path, {"y", "x"}).describe_fields() == Texts{"y int64", "x float32 3"});
}

TEST_CASE("an unsupported .npy file is refused with a hint") {
  CHECK(complaint("a.npy", make_npy(header(">f4", "(2, 3)"), kSix)).find("holds elements of type \">f4\"") == 0);
  CHECK(complaint("a.npy", make_npy(header("<u2", "(12,)"), kSix)).find("holds elements of type \"<u2\"") == 0);
  CHECK(complaint("a.npy", make_npy(header("<f4", "(2, 3)", "True"), kSix)).find("is in Fortran order") == 0);
  CHECK(complaint("a.npy", make_npy(header("<f4", "(2, 4)"), kSix)).find("holds 24 bytes after its header") == 0);
  CHECK(complaint("a.npy", make_npy(header("<f4", "(2, 2)"), kSix)).find("holds 24 bytes after its header") == 0);
  CHECK(complaint("a.npy", make_npy(header("<f4", "(4611686018427387904, 4)"), kSix)).find("holds 24 bytes") == 0);
  CHECK(complaint("a.npy", make_npy(header("<f4", "()"), bytes_of<float>({1}))).find("is a single number") == 0);
  CHECK(complaint("a.npy", make_npy(header("<f4", "(0, 3)"), {})).find("holds no sample") == 0);
  CHECK(complaint("a.npy", make_npy(header("<f4", "(3, 0, 2)"), {})) ==
        "has the shape (3, 0, 2), so its rows hold no element; list the other arrays in the parameter \"fields\"");
  CHECK(complaint("a.npy", make_npy(header("<f4", '(' + repeat("1,", 65) + ')'), bytes_of<float>({1}))) ==
        "has 65 dimensions; expected at most 64");
  CHECK(complaint("a.npy", {'P', 'K', 3, 4}).find("does not begin like a .npy file") == 0);
  for (const char* text : {"{'descr': '<f4', 'shape': (2, 3), }", "{'descr': [('a', '<f4')], 'shape': (6,), }",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }", "", "{"}) {
    CHECK(complaint("a.npy", make_npy(text, kSix)).find("has an unreadable header") == 0);
  }
  for (const auto& [major, minor] : std::vector<std::pair<int, int>>{{0, 0}, {1, 1}, {4, 0}, {255, 255}}) {
    Bytes other = make_npy(header("<f4", "(2, 3)"), kSix);
    other[6] = static_cast<uint8_t>(major);
    other[7] = static_cast<uint8_t>(minor);
    CHECK(complaint("a.npy", other) == "has version " + std::to_string(major) + '.' + std::to_string(minor) +
                                           " of the .npy format; expected 1.0, 2.0 or 3.0; save the array again with "
                                           "numpy.save");
  }
  for (const char* junk : {"x", "}", "{'descr': '<f4'}", "# a comment"})
    CHECK(complaint("a.npy", make_npy(header("<f4", "(2, 3)") + ' ' + junk, kSix)).find("has an unreadable header") ==
          0);
  Bytes long_header = make_npy(header("<f4", "(2, 3)"), kSix);
  long_header[6] = 2;  // the length of the header now takes four bytes
  long_header[9] = 0xFF;
  long_header[10] = 0xFF;
  long_header[11] = 0;
  long_header.resize(size_t{17} << 20);
  CHECK(complaint("a.npy", long_header).find(" bytes; expected 65536 at most") != std::string::npos);
  for (const size_t length : {7, 9, 60}) {
    Bytes cut = make_npy(header("<f4", "(2, 3)"), kSix);
    cut.resize(length);
    CHECK(complaint("a.npy", cut) == "ends within its header; it was cut off");
  }
}

TEST_CASE("a contradictory safetensors file is refused with file and tensor") {
  const auto with = [](const std::string& entry) {
    return complaint("a.safetensors", make_safetensors("{\"x\":" + entry + "}", kSix));
  };
  CHECK(with(R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,28]})") ==
        "tensor \"x\": data_offsets span 28 bytes; expected 24 of dtype and shape; save the file again");
  CHECK(
      with(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,24]})").find("tensor \"x\": data_offsets span 24 bytes") ==
      0);
  CHECK(with(R"({"dtype":"F32","shape":[2,3],"data_offsets":[24,0]})")
            .find("tensor \"x\": data_offsets run from 24 back") == 0);
  CHECK(
      with(R"({"dtype":"F32","shape":[-2,-3],"data_offsets":[0,24]})").find("tensor \"x\": shape holds -2; expected") ==
      0);
  for (const char* shape : {"[-1,0]", "[0,-1]", "[2,-3,0]"}) {
    const std::string entry = R"({"x":{"dtype":"F32","data_offsets":[0,0],"shape":)" + std::string(shape) + "}}";
    CHECK(complaint("a.safetensors", make_safetensors(entry, {})).find("tensor \"x\": shape holds -") == 0);
  }
  CHECK(with(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,24]})")
            .find("tensor \"x\": the shape has more") == 0);
  CHECK(with(R"({"dtype":"U16","shape":[12],"data_offsets":[0,24]})").find("tensor \"x\": dtype is \"U16\"") == 0);
  CHECK(with(R"({"dtype":"F32","shape":[6]})").find("tensor \"x\" has no data_offsets") == 0);
  CHECK(with("3").find("tensor \"x\" is 3; expected an object") == 0);
  CHECK(with(R"({"dtype":"F32","shape":[6.0],"data_offsets":[0,24]})").find("tensor \"x\": shape holds 6.0") == 0);
  CHECK(with(R"({"dtype":"F32","shape":[1e300],"data_offsets":[0,24]})").find("tensor \"x\": shape holds 1e300") == 0);
  CHECK(with(R"({"dtype":"F32","shape":[6],"data_offsets":[0,24.9]})").find("tensor \"x\": data_offsets holds 24.9") ==
        0);
  CHECK(complaint("a.safetensors", make_safetensors("{}", {})) == "holds no tensor");
  CHECK(complaint("a.safetensors", make_safetensors("[1", kSix)).find("the header does not start with {") == 0);
  CHECK(complaint("a.safetensors", {1, 2, 3}).find("is neither a .npy file nor a complete safetensors file") == 0);
  CHECK(complaint("a.safetensors", {99, 0, 0, 0, 0, 0, 0, 0, '{', '}'}).find("is neither a .npy file nor a complete") ==
        0);
}

TEST_CASE("a safetensors file with overlapping, missing or repeated tensors is refused") {
  const auto entry = [](const std::string& name, int begin, int end) {
    return "\"" + name + R"(":{"dtype":"F32","shape":[)" + std::to_string((end - begin) / 4) + R"(],"data_offsets":[)" +
           std::to_string(begin) + ',' + std::to_string(end) + "]}";
  };
  const auto of = [&](const std::string& entries) {
    return complaint("a.safetensors", make_safetensors("{" + entries + "}", kSix));
  };
  CHECK(
      of(entry("x", 0, 16) + ',' + entry("y", 12, 24)) ==
      "tensor \"y\": data_offsets are 12 to 24; expected to begin at 16, where the tensor before ends (they overlap); "
      "save the file again");
  CHECK(of(entry("x", 0, 8) + ',' + entry("y", 12, 24)).find("expected to begin at 8 (there is a gap)") !=
        std::string::npos);
  CHECK(of(entry("x", 4, 24)).find("tensor \"x\": data_offsets are 4 to 24; expected to begin at 0") == 0);
  CHECK(of(entry("x", 0, 20)) ==
        "the tensors end at byte 20 of the data; expected 24, the end of the file; save the file again");
  CHECK(of(entry("x", 0, 12) + ',' + entry("x", 12, 24)) == "the name \"x\" occurs twice; save the file again");
  CHECK(of(R"("x":{"dtype":"F32","dtype":"F32","shape":[6],"data_offsets":[0,24]})") ==
        "tensor \"x\" has dtype twice; save the file again");
  CHECK(of(R"("x":{"dtype":"F32","shape":[6],"data_offsets":[0,24],"more":1})")
            .find("tensor \"x\" has the unknown key") == 0);
  CHECK(of(R"("x":[[[[[[1]]]]]])").find("tensor \"x\" is a list; expected an object") == 0);
}

TEST_CASE("a safetensors header that is not of the format is refused") {
  const std::string tensor = R"("x":{"dtype":"F32","shape":[6],"data_offsets":[0,24]})";
  const auto of = [&](const std::string& header) { return complaint("a.safetensors", make_safetensors(header, kSix)); };
  CHECK(of(R"({"__metadata__":{"a":{"b":{"c":1}}},)" + tensor + '}').find("__metadata__.\"a\" is an object") == 0);
  CHECK(of(R"({"x":{"dtype":{"a":{}}}})").find("tensor \"x\": dtype is an object; expected a string") == 0);
  CHECK(of(R"({"__metadata__":{"a":1},)" + tensor + '}').find("__metadata__.\"a\" is 1; expected a string") == 0);
  CHECK(of(R"({"__metadata__":[],)" + tensor + '}').find("__metadata__ is a list; expected an object") == 0);
  CHECK(of('{' + tensor + "}" + std::string(1, '\0') + " more").find("the header is not JSON") == 0);
  CHECK(of(" {" + tensor + '}').find("the header does not start with {") == 0);
  CHECK(
      of(R"({"x":{"dtype":"F32","shape":[6],"data_offsets":[0,24,24]}})").find("tensor \"x\": data_offsets has more") ==
      0);
  CHECK(of(R"({"x":{"dtype":"F32","shape":[6],"data_offsets":[-0,24]}})").find("tensor \"x\": data_offsets holds 0") ==
        0);
  CHECK(of(R"({"x":{"dtype":"F32","shape":[)" + repeat("1,", 64) + R"(6],"data_offsets":[0,24]}})")
            .find("tensor \"x\": the shape has more than 64 dimensions") == 0);
  const std::string name(1000, 'x');
  CHECK(of("{\"" + name + "\":3}").find("tensor \"" + name.substr(0, 120) + "...\" is 3") == 0);
  CHECK(of(R"({"":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}})") ==
        "one of the arrays has no name; list some of them in the parameter \"fields\"");
}

// The time grew with the square of the size.
TEST_CASE("a safetensors file of very many tensors is read in time proportional to its size") {
  std::string entries;
  for (int i = 0; i < 100'000; ++i)
    entries += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" +
               std::to_string(i) + ',' + std::to_string(i + 1) + "]}";
  const fs::path path = make_empty_folder("many_tensors") / "a.safetensors";
  write_file(path, make_safetensors('{' + entries + '}', Bytes(100'000, 7)));
  CHECK(refusal(path).find("has 100000 arrays; expected at most 64") != std::string::npos);
  CHECK(open(path, {"99999"}).bytes(0, "99999") == Bytes{7});
}

TEST_CASE("arrays are refused that the host would refuse as fields") {
  const fs::path folder = make_empty_folder("many_arrays");
  for (int i = 0; i < 65; ++i)
    write_file(folder / (std::to_string(i) + ".npy"), make_npy(header("<f4", "(2, 3)"), kSix));
  CHECK(refusal(folder) ==
        folder.string() + ": has 65 arrays; expected at most 64; list some of them in the parameter \"fields\"");
  CHECK(refusal(folder, {"1", "2", "1"}) ==
        folder.string() + ": the parameter \"fields\" names \"1\" twice; expected each array once");
  CHECK(open(folder, {"2", "1"}).describe_fields() == Texts{"2 float32 3", "1 float32 3"});
}

TEST_CASE("a file of arrays that was shortened while it is in use is reported with its sizes") {
  const fs::path path = make_empty_folder("cut") / "a.npy";
  const uintmax_t elements = uintmax_t{17} << 20;  // bytes; smaller arrays stay in memory
  write_file(path, make_npy(header("<f4", "(" + std::to_string(elements / 16) + ", 4)"), {}));
  const uintmax_t size = fs::file_size(path) + elements;
  fs::resize_file(path, size);
  const OpenedDataset arrays = open(path);
  fs::resize_file(path, size - 20);
  CHECK(arrays.floats(0, "a") == std::vector<float>(4));
  const std::string text = error_of<Refused>([&] { arrays.get(arrays.size() - 1); });
  CHECK(text == path.string() + ": ends at byte " + std::to_string(size - 20) + "; expected " + std::to_string(size) +
                    " bytes or more; it had " + std::to_string(size) +
                    " bytes when it was opened; do not modify the files of a dataset while it is in use");
}

TEST_CASE("arrays of different lengths, missing arrays and missing files are refused") {
  const fs::path folder = make_empty_folder("unlike");
  CHECK(refusal(folder) == folder.string() + ": holds no .npy file; expected one for each field");
  write_file(folder / "a.npy", make_npy(header("<f4", "(2, 3)"), kSix));
  write_file(folder / "b.npy", make_npy(header("<f4", "(3, 2)"), kSix));
  CHECK(refusal(folder).find((folder / "b.npy").string() + ": holds 3 samples; expected 2, as " +
                             (folder / "a.npy").string() + " has") == 0);
  CHECK(refusal(folder, {"b"}).empty());
  CHECK(refusal(folder, {"c"})
            .find("holds no array \"c\", which the parameter \"fields\" names; available: \"a\", \"b\"") !=
        std::string::npos);
  CHECK(refusal(folder / "nowhere").find((folder / "nowhere").string() + ": cannot be read: No such file") == 0);
}

TEST_CASE("an archive of NumPy is named, with the fix") {
  const std::string fix = "is an archive of NumPy (.npz); expected a .npy file for each array: unpack it with unzip";
  CHECK(complaint("a.npz", {'P', 'K', 3, 4, 0, 0}).find(fix) == 0);
  CHECK(complaint("a.safetensors", {'P', 'K', 3, 4, 0, 0}).find("is a zip archive; expected .npy or safetensors") == 0);
  const fs::path folder = make_empty_folder("npz_folder");
  write_file(folder / "a.npz", {'P', 'K', 3, 4});
  CHECK(refusal(folder).find((folder / "a.npz").string() + ": " + fix) == 0);
  CHECK(complaint("a.npy", make_npy(header("|O", "(2,)"), {})).find("number the classes") != std::string::npos);
}

}  // namespace arrays_test
