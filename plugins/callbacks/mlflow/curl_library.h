// The functions of libcurl that the plugin uses, from the library of the system.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlflow {

struct CurlHandle;
struct CurlList;

// libcurl's binary interface has been stable since 2006 (libcurl.so.4). curl_library.cpp compares these numbers with
// libcurl's header if the build machine has it.
constexpr int kCurlWriteData = 10001;
constexpr int kCurlUrl = 10002;
constexpr int kCurlReadData = 10009;
constexpr int kCurlErrorBuffer = 10010;
constexpr int kCurlPostFields = 10015;
constexpr int kCurlUserAgent = 10018;
constexpr int kCurlHttpHeader = 10023;
constexpr int kCurlHeaderData = 10029;
constexpr int kCurlXferInfoData = 10057;
constexpr int kCurlCaInfo = 10065;
constexpr int kCurlUserName = 10173;
constexpr int kCurlPassword = 10174;
constexpr int kCurlWriteFunction = 20011;
constexpr int kCurlReadFunction = 20012;
constexpr int kCurlHeaderFunction = 20079;
constexpr int kCurlXferInfoFunction = 20219;
constexpr int kCurlInFileSize = 30115;
constexpr int kCurlPostFieldSize = 30120;
constexpr int kCurlLowSpeedLimit = 19;
constexpr int kCurlLowSpeedTime = 20;
constexpr int kCurlNoProgress = 43;
constexpr int kCurlUpload = 46;
constexpr int kCurlSslVerifyPeer = 64;
constexpr int kCurlSslVerifyHost = 81;
constexpr int kCurlNoSignal = 99;
constexpr int kCurlHttpAuth = 107;
constexpr int kCurlTimeoutMs = 155;
constexpr int kCurlConnectTimeoutMs = 156;
constexpr int kCurlResponseCode = 0x200002;
constexpr int kCurlAbortedByCallback = 42;
constexpr long kCurlBasicAuth = 1;
constexpr long kCurlGlobalAll = 3;
constexpr int kCurlErrorSize = 256;

// The types of the data functions, see curl_easy_setopt(3).
using CurlDataFunction = size_t (*)(char* data, size_t size, size_t count, void* context);
using CurlProgressFunction = int (*)(void* context, int64_t, int64_t, int64_t, int64_t);

struct CurlLibrary {
  int (*global_init)(long flags);
  CurlHandle* (*easy_init)();
  void (*easy_cleanup)(CurlHandle*);
  int (*easy_setopt)(CurlHandle*, int option, ...);
  int (*easy_perform)(CurlHandle*);
  int (*easy_getinfo)(CurlHandle*, int info, ...);
  const char* (*easy_strerror)(int code);
  CurlList* (*slist_append)(CurlList*, const char*);
  void (*slist_free_all)(CurlList*);
};

// Opens libcurl at the first call and keeps it. Throws tenon::Error with the reason if it cannot be opened.
const CurlLibrary& curl_library();

}  // namespace mlflow
