// What the module libgeiger-http.so has to offer.
#pragma once

#include "serve/http_server.h"

namespace geiger::serve {

inline constexpr const char* kHttpModule = "libgeiger-http.so";
inline constexpr const char* kMakeHttpServer = "geiger_make_http_server";

}  // namespace geiger::serve

/// Takes both over; the caller owns the server.
extern "C" geiger::serve::HttpServer* geiger_make_http_server(std::string* token,
                                                              geiger::serve::Handler* handler);
