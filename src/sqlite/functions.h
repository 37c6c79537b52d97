// The functions of SQLite that geiger calls, as pointers: only a module links the library, so that
// nothing loads it before it is asked for (modules/module.h).
#pragma once

#include <sqlite3.h>

namespace geiger::sqlite {

struct Functions {
  decltype(&sqlite3_open_v2) open_v2;
  decltype(&sqlite3_close) close;
  decltype(&sqlite3_errmsg) errmsg;
  decltype(&sqlite3_errstr) errstr;
  decltype(&sqlite3_db_config) db_config;
  decltype(&sqlite3_limit) limit;
  decltype(&sqlite3_busy_timeout) busy_timeout;
  decltype(&sqlite3_exec) exec;
  decltype(&sqlite3_prepare_v2) prepare_v2;
  decltype(&sqlite3_finalize) finalize;
  decltype(&sqlite3_bind_text64) bind_text64;
  decltype(&sqlite3_bind_int64) bind_int64;
  decltype(&sqlite3_bind_null) bind_null;
  decltype(&sqlite3_step) step;
  decltype(&sqlite3_reset) reset;
  decltype(&sqlite3_last_insert_rowid) last_insert_rowid;
  decltype(&sqlite3_column_int64) column_int64;
  decltype(&sqlite3_column_text) column_text;
  decltype(&sqlite3_column_bytes) column_bytes;
  decltype(&sqlite3_progress_handler) progress_handler;
  decltype(&sqlite3_serialize) serialize;
  decltype(&sqlite3_free) free;
};

inline constexpr const char* kModule = "libgeiger-sqlite.so";
inline constexpr const char* kFunctionsOfModule = "geiger_sqlite_functions";

}  // namespace geiger::sqlite

/// Those of the library that the module links.
extern "C" const geiger::sqlite::Functions* geiger_sqlite_functions();
