#include "plugins/callbacks/mlflow/http.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "plugins/callbacks/mlflow/curl_library.h"

namespace mlflow {

namespace {

constexpr size_t kLargestAnswer = 4 << 20;  // bytes; a tracking server's answers to these requests are short
constexpr long kConnectTimeoutMs = 10'000;
constexpr long kLowSpeedTimeS = 60;  // a transfer of a file without progress ends after this time

struct CloseHandle {
  void operator()(CurlHandle* handle) const { curl_library().easy_cleanup(handle); }
};
struct FreeList {
  void operator()(CurlList* list) const { curl_library().slist_free_all(list); }
};
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// libcurl calls these functions through C; they do not throw.
size_t add_to_answer(char* data, size_t size, size_t count, void* context) {
  auto& body = static_cast<HttpResponse*>(context)->body;
  if (body.size() + size * count > kLargestAnswer) return 0;  // ends the transfer
  body.append(data, size * count);
  return size * count;
}

size_t read_header(char* data, size_t size, size_t count, void* context) {
  constexpr std::string_view kRetryAfter = "retry-after:";
  const std::string_view line(data, size * count);
  const bool is_found = line.size() > kRetryAfter.size() &&
                        std::equal(kRetryAfter.begin(), kRetryAfter.end(), line.begin(),
                                   [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
  // A date instead of a number of seconds reads as 0.
  if (is_found) {
    const double seconds = std::atof(std::string(line.substr(kRetryAfter.size())).c_str());
    static_cast<HttpResponse*>(context)->retry_after_s = seconds > 0 && seconds < 1e6 ? seconds : 0;
  }
  return size * count;
}

size_t read_file(char* data, size_t size, size_t count, void* context) {
  return std::fread(data, size, count, static_cast<std::FILE*>(context));
}

int check_cancelled(void* context, int64_t, int64_t, int64_t, int64_t) {
  return static_cast<const std::atomic<bool>*>(context)->load() ? 1 : 0;
}

// One request. Options are for this handle only.
class Transfer {
 public:
  Transfer(const ServerSettings& settings, const std::atomic<bool>& is_cancelled, const std::string& path)
      : uri_(settings.uri + path), handle_(curl_library().easy_init()) {
    if (!handle_) throw Unavailable("libcurl cannot make a handle");
    set(kCurlUrl, uri_.c_str());
    set(kCurlErrorBuffer, static_cast<char*>(error_));
    set(kCurlUserAgent, "tenon");
    set(kCurlNoSignal, 1L);  // signals belong to the host
    set(kCurlConnectTimeoutMs, kConnectTimeoutMs);
    set<CurlDataFunction>(kCurlWriteFunction, &add_to_answer);
    set(kCurlWriteData, static_cast<void*>(&response_));
    set<CurlDataFunction>(kCurlHeaderFunction, &read_header);
    set(kCurlHeaderData, static_cast<void*>(&response_));
    set(kCurlNoProgress, 0L);
    set<CurlProgressFunction>(kCurlXferInfoFunction, &check_cancelled);
    set(kCurlXferInfoData, const_cast<void*>(static_cast<const void*>(&is_cancelled)));
    if (!settings.verifies_tls) {
      set(kCurlSslVerifyPeer, 0L);
      set(kCurlSslVerifyHost, 0L);
    }
    if (!settings.certificate.empty()) set(kCurlCaInfo, settings.certificate.c_str());
    if (!settings.user.empty() && !settings.password.empty()) {
      set(kCurlHttpAuth, kCurlBasicAuth);
      set(kCurlUserName, settings.user.c_str());
      set(kCurlPassword, settings.password.c_str());
    } else if (!settings.token.empty()) {
      add_header("Authorization: Bearer " + settings.token);
    }
  }

  template <class Value>
  void set(int option, Value value) {
    const int code = curl_library().easy_setopt(handle_.get(), option, value);
    if (code != 0) throw Unavailable(std::string("libcurl refuses an option: ") + curl_library().easy_strerror(code));
  }

  void add_header(const std::string& line) {
    CurlList* const longer = curl_library().slist_append(headers_.get(), line.c_str());
    if (!longer) throw Unavailable("libcurl has no memory for a header");
    headers_.release();
    headers_.reset(longer);
  }

  HttpResponse perform() {
    if (headers_) set(kCurlHttpHeader, static_cast<void*>(headers_.get()));
    const int code = curl_library().easy_perform(handle_.get());
    if (code == kCurlAbortedByCallback) throw Unavailable("the request was interrupted");
    if (code != 0)
      throw Unavailable(error_[0] != '\0' ? std::string(error_) : std::string(curl_library().easy_strerror(code)));
    curl_library().easy_getinfo(handle_.get(), kCurlResponseCode, &response_.status);
    return std::move(response_);
  }

 private:
  std::string uri_;
  std::unique_ptr<CurlHandle, CloseHandle> handle_;
  std::unique_ptr<CurlList, FreeList> headers_;
  char error_[kCurlErrorSize] = {};
  HttpResponse response_;
};

}  // namespace

Http::Http(const ServerSettings& settings, const std::atomic<bool>& is_cancelled)
    : settings_(settings), is_cancelled_(is_cancelled) {
  curl_library();
}

HttpResponse Http::request(const std::string& path, const std::optional<std::string>& body) {
  Transfer transfer(settings_, is_cancelled_, path);
  transfer.set(kCurlTimeoutMs, static_cast<long>(settings_.timeout_s * 1000));
  if (body) {
    transfer.add_header("Content-Type: application/json");
    transfer.add_header("Expect:");  // without a round trip before a long body
    transfer.set(kCurlPostFields, body->c_str());
    transfer.set(kCurlPostFieldSize, static_cast<int64_t>(body->size()));
  }
  return transfer.perform();
}

HttpResponse Http::put_file(const std::string& path, const std::string& file) {
  const std::unique_ptr<std::FILE, CloseFile> stream(std::fopen(file.c_str(), "rbe"));
  if (!stream || std::fseek(stream.get(), 0, SEEK_END) != 0)
    throw std::runtime_error(file + " cannot be read: " + std::strerror(errno));
  const long size = std::ftell(stream.get());
  std::rewind(stream.get());
  Transfer transfer(settings_, is_cancelled_, path);
  transfer.add_header("Content-Type: application/octet-stream");
  transfer.add_header("Expect:");
  transfer.set(kCurlUpload, 1L);
  transfer.set(kCurlInFileSize, static_cast<int64_t>(size));
  transfer.set<CurlDataFunction>(kCurlReadFunction, &read_file);
  transfer.set(kCurlReadData, static_cast<void*>(stream.get()));
  transfer.set(kCurlLowSpeedLimit, 1L);
  transfer.set(kCurlLowSpeedTime, kLowSpeedTimeS);
  return transfer.perform();
}

std::string encode_for_uri(const std::string& text, const std::string& kept) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool stays =
        (byte < 0x80 && std::isalnum(byte)) || std::strchr("-._~", c) || kept.find(c) != std::string::npos;
    if (stays && c != '\0') {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

}  // namespace mlflow
