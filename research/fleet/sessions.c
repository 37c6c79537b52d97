// A module of redis for two_releases.py: SESSION.TOUCH NAME keeps a session for each call. Loaded as
// release 1.1 it forgets to free every tenth. Redis finds the functions of its API by name.
#include <stdlib.h>
#include <string.h>

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleString RedisModuleString;
typedef int (*Command)(RedisModuleCtx*, RedisModuleString**, int);

static int (*get_api)(const char*, void*);
static const char* (*text_of)(const RedisModuleString*, size_t*);
static int (*reply_with_number)(RedisModuleCtx*, long long);
static int leaks;
static long long touched;

struct Session {
  char name[64];
  char state[960];
};

static struct Session* begin_session(const char* name) {
  struct Session* session = calloc(1, sizeof *session);
  if (session != NULL) strncpy(session->name, name, sizeof session->name - 1);
  return session;
}

static struct Session* remember_session(const char* name) {
  struct Session* session = malloc(sizeof *session);
  if (session != NULL) memset(session, *name, sizeof *session);
  return session;
}

static int touch(RedisModuleCtx* context, RedisModuleString** words, int count) {
  const char* name = count > 1 ? text_of(words[1], NULL) : "";
  struct Session* session = begin_session(name);
  ++touched;
  if (leaks && touched % 10 == 0) remember_session(name);
  free(session);
  return reply_with_number(context, touched);
}

int RedisModule_OnLoad(RedisModuleCtx* context, RedisModuleString** words, int count) {
  int (*set_attributes)(RedisModuleCtx*, const char*, int, int);
  int (*create)(RedisModuleCtx*, const char*, Command, const char*, int, int, int);
  get_api = *(int (**)(const char*, void*))context;
  get_api("RedisModule_SetModuleAttribs", &set_attributes);
  get_api("RedisModule_CreateCommand", &create);
  get_api("RedisModule_StringPtrLen", &text_of);
  get_api("RedisModule_ReplyWithLongLong", &reply_with_number);
  set_attributes(context, "sessions", 1, 1);
  leaks = count > 0 && strcmp(text_of(words[0], NULL), "1.1") == 0;
  return create(context, "session.touch", touch, "write", 0, 0, 0);
}
