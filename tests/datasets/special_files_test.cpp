// Paths that are FIFOs, devices or sockets. A FIFO without a writer would block its reader, and some devices have no
// end.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include <tenon/error.hpp>

#include "framework/formats/regular_file.h"
#include "framework/images/decode/image_info.h"
#include "plugins/datasets/shared/csv.h"
#include "plugins/text/tokenizer.h"
#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"
#include "tests/test_folder.h"

namespace special_files_test {

namespace fs = std::filesystem;

namespace {

using Texts = std::vector<std::string>;

std::string make_fifo(const std::string& name) {
  const fs::path path = tenon::test_folder() / name;
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  return path.string();
}

std::string make_socket() {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "socket");  // relative, because the path must be short
  const int number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(bind(number, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  close(number);
  return "socket";
}

std::string whole_error(const std::string& path, uint64_t most = UINT64_MAX) {
  return error_of<tenon::DataError>([&] { formats::read_whole(path, "a text", most); });
}

}  // namespace

TEST_CASE("anything but a regular file is refused as what it is, without waiting for a writer") {
  const std::string fifo = make_fifo("fifo");
  CHECK(whole_error(fifo) == fifo + ": is a FIFO; expected a regular file");
  CHECK(whole_error(".") == ".: is a folder; expected a regular file");
  CHECK(whole_error(make_socket()) == "socket: is a socket; expected a regular file");
  for (const std::string device : {"/dev/zero", "/dev/full", "/dev/urandom", "/dev/null"})
    CHECK(whole_error(device) == device + ": is a device; expected a regular file");
  fs::create_symlink(fifo, "link");
  CHECK(whole_error("link") == "link: is a FIFO; expected a regular file");
  CHECK(whole_error("") == "the path is empty; expected a text");
  CHECK(whole_error("none") == "none: cannot be read: No such file or directory; expected a text");
}

TEST_CASE("the size of a file is checked before it is read") {
  write_file(tenon::test_folder() / "large", {'a', 'b', 'c'});
  CHECK(formats::read_whole("large", "a text", 3) == "abc");
  CHECK(whole_error("large", 2) == "large: has 3 bytes; expected a text of at most 2 bytes");
  fs::resize_file("large", uintmax_t{1} << 42);  // sparse, and more than the memory of the machine
  CHECK(whole_error("large").find("large: has 4398046511104 bytes; expected a text of at most ") == 0);
  std::vector<uint8_t> bytes;
  CHECK(error_of<tenon::DataError>([&] { images::read_file("large", bytes); }) ==
        "large: has 4398046511104 bytes; expected an image of at most 2147483647 bytes");
  CHECK(bytes.empty());
}

TEST_CASE("tables, tokenizers and texts refuse a FIFO and a device") {
  for (const std::string& path : {make_fifo("fifo"), std::string("/dev/zero")}) {
    const std::string expected = path + (path == "/dev/zero" ? ": is a device" : ": is a FIFO");
    CHECK(error_of<tenon::DataError>([&] { tables::Csv csv(path); }).find(expected) == 0);
    CHECK(error_of<tenon::DataError>([&] { text::read_tokenizer_file(path); }).find(expected) == 0);
    for (const char* plugin : {"arrays", "tar_shards"}) {
      const std::string file = std::string(TENON_BINARY_DIR "/plugins/") + plugin + ".so";
      CAPTURE(plugin);
      CHECK(error_of<Refused>([&] { OpenedDataset(file, {{"path", path}}); }).find(expected) == 0);
    }
  }
}

TEST_CASE("an image that becomes a FIFO while the dataset is in use is refused") {
  const std::string table = "path,label\nimage.png,a\n";
  write_file(tenon::test_folder() / "t.csv", {table.begin(), table.end()});
  write_file(tenon::test_folder() / "image.png", encode(".png", cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(10))));
  const OpenedDataset data(
      TENON_BINARY_DIR "/plugins/image_csv.so",
      {{"path", (tenon::test_folder() / "t.csv").string()}, {"image", "path"}, {"labels", Texts{"label"}}});
  REQUIRE(data.get(0).size() > 0);
  fs::remove("image.png");
  const std::string path = make_fifo("image.png");
  const std::string text = error_of<Refused>([&] { data.get(0); });
  CHECK(text.find(path + ": is a FIFO; expected a regular file") == 0);
}

}  // namespace special_files_test
