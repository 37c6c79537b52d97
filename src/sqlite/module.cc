// The module libgeiger-sqlite.so.
#include "sqlite/functions.h"

const geiger::sqlite::Functions* geiger_sqlite_functions() {
  static constexpr geiger::sqlite::Functions kFunctions{
      sqlite3_open_v2,      sqlite3_close,       sqlite3_errmsg,       sqlite3_errstr,
      sqlite3_db_config,    sqlite3_limit,       sqlite3_busy_timeout, sqlite3_exec,
      sqlite3_prepare_v2,   sqlite3_finalize,    sqlite3_bind_text64,  sqlite3_bind_int64,
      sqlite3_bind_null,    sqlite3_step,        sqlite3_reset,        sqlite3_last_insert_rowid,
      sqlite3_column_int64, sqlite3_column_text, sqlite3_column_bytes, sqlite3_progress_handler,
      sqlite3_serialize,    sqlite3_free};
  return &kFunctions;
}
