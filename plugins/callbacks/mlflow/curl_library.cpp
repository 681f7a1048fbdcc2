#include "plugins/callbacks/mlflow/curl_library.h"

#include <dlfcn.h>

#include <string>
#include <tenon/error.hpp>

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>
static_assert(CURLOPT_WRITEDATA == mlflow::kCurlWriteData && CURLOPT_URL == mlflow::kCurlUrl);
static_assert(CURLOPT_READDATA == mlflow::kCurlReadData && CURLOPT_ERRORBUFFER == mlflow::kCurlErrorBuffer);
static_assert(CURLOPT_POSTFIELDS == mlflow::kCurlPostFields && CURLOPT_USERAGENT == mlflow::kCurlUserAgent);
static_assert(CURLOPT_HTTPHEADER == mlflow::kCurlHttpHeader && CURLOPT_HEADERDATA == mlflow::kCurlHeaderData);
static_assert(CURLOPT_XFERINFODATA == mlflow::kCurlXferInfoData && CURLOPT_CAINFO == mlflow::kCurlCaInfo);
static_assert(CURLOPT_USERNAME == mlflow::kCurlUserName && CURLOPT_PASSWORD == mlflow::kCurlPassword);
static_assert(CURLOPT_WRITEFUNCTION == mlflow::kCurlWriteFunction && CURLOPT_READFUNCTION == mlflow::kCurlReadFunction);
static_assert(CURLOPT_HEADERFUNCTION == mlflow::kCurlHeaderFunction);
static_assert(CURLOPT_XFERINFOFUNCTION == mlflow::kCurlXferInfoFunction);
static_assert(CURLOPT_INFILESIZE_LARGE == mlflow::kCurlInFileSize);
static_assert(CURLOPT_POSTFIELDSIZE_LARGE == mlflow::kCurlPostFieldSize);
static_assert(CURLOPT_LOW_SPEED_LIMIT == mlflow::kCurlLowSpeedLimit);
static_assert(CURLOPT_LOW_SPEED_TIME == mlflow::kCurlLowSpeedTime && CURLOPT_NOPROGRESS == mlflow::kCurlNoProgress);
static_assert(CURLOPT_UPLOAD == mlflow::kCurlUpload && CURLOPT_SSL_VERIFYPEER == mlflow::kCurlSslVerifyPeer);
static_assert(CURLOPT_SSL_VERIFYHOST == mlflow::kCurlSslVerifyHost && CURLOPT_NOSIGNAL == mlflow::kCurlNoSignal);
static_assert(CURLOPT_HTTPAUTH == mlflow::kCurlHttpAuth && CURLOPT_TIMEOUT_MS == mlflow::kCurlTimeoutMs);
static_assert(CURLOPT_CONNECTTIMEOUT_MS == mlflow::kCurlConnectTimeoutMs);
static_assert(CURLINFO_RESPONSE_CODE == mlflow::kCurlResponseCode);
static_assert(CURLE_ABORTED_BY_CALLBACK == mlflow::kCurlAbortedByCallback);
static_assert(CURLAUTH_BASIC == mlflow::kCurlBasicAuth && CURL_GLOBAL_ALL == mlflow::kCurlGlobalAll);
static_assert(CURL_ERROR_SIZE == mlflow::kCurlErrorSize && sizeof(curl_off_t) == sizeof(int64_t));
#endif

namespace mlflow {

namespace {

// The second one uses GnuTLS. It is tried if the first one needs a newer OpenSSL than the process already has.
constexpr const char* kNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

template <class Function>
void find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (!function) throw tenon::Error(std::string("libcurl has no function ") + symbol + ": " + dlerror());
}

// The host opens every plugin that it finds at each start. libcurl needs 30 libraries, so it is not linked, but opened
// when a run is logged. It is never closed, because libraries that it opens keep state per process.
CurlLibrary open_library() {
  void* library = nullptr;
  std::string reasons;
  for (const char* name : kNames) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library) break;
    reasons += (reasons.empty() ? "" : "; ") + std::string(dlerror());
  }
  if (!library) {
    throw tenon::Error("libcurl cannot be loaded (" + reasons +
                       "); install libcurl.so.4: on Debian and Ubuntu the package libcurl4, on Fedora libcurl");
  }
  CurlLibrary found{};
  find(library, "curl_global_init", found.global_init);
  find(library, "curl_easy_init", found.easy_init);
  find(library, "curl_easy_cleanup", found.easy_cleanup);
  find(library, "curl_easy_setopt", found.easy_setopt);
  find(library, "curl_easy_perform", found.easy_perform);
  find(library, "curl_easy_getinfo", found.easy_getinfo);
  find(library, "curl_easy_strerror", found.easy_strerror);
  find(library, "curl_slist_append", found.slist_append);
  find(library, "curl_slist_free_all", found.slist_free_all);
  const int code = found.global_init(kCurlGlobalAll);
  if (code != 0) throw tenon::Error(std::string("libcurl cannot be initialised: ") + found.easy_strerror(code));
  return found;
}

}  // namespace

const CurlLibrary& curl_library() {
  static const CurlLibrary library = open_library();
  return library;
}

}  // namespace mlflow
