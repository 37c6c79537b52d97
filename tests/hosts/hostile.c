// A process that wants to gain something from being profiled by root. Started by root, it becomes
// the user 65534, enters user, mount and network namespaces of its own, makes a root there in which
// it may do anything, and allocates until its input ends. Meanwhile a thread attacks:
//
//   hostile link VICTIM ROOT        its /tmp, /var/tmp and /dev/shm are links to VICTIM outside
//   hostile mount VICTIM ROOT       mounts VICTIM over geiger's directories in its /tmp
//   hostile swap VICTIM ROOT        puts links to VICTIM in their place
//   hostile cover VICTIM ROOT       mounts VICTIM, a file, over the traces in them
//   hostile descriptor VICTIM ROOT  opens VICTIM in the place of the copy of the library
//   hostile cut VICTIM ROOT         truncates the traces that it writes
//   hostile hold VICTIM ROOT        holds the locks of the files by which it is called
//
// ROOT is an empty directory. With HOSTILE_FILTERED in its environment it has a filter of system
// calls, which allows all: it then gets no traces from root, and those in its own /tmp are what is
// attacked. Prints "ready" first.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char* victim;

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static void write_file(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY);
  require(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
  close(fd);
}

static void enter_namespaces(void) {
  enum { kNobody = 65534 };
  char map[64];
  const unsigned user = kNobody, group = kNobody;
  require(setgroups(0, NULL) == 0 && setgid(group) == 0 && setuid(user) == 0, "setuid");
  require(prctl(PR_SET_DUMPABLE, 1) == 0, "prctl");  // Else /proc/self is root's.
  require(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) == 0, "unshare");
  write_file("/proc/self/setgroups", "deny");
  snprintf(map, sizeof map, "0 %u 1", user);
  write_file("/proc/self/uid_map", map);
  snprintf(map, sizeof map, "0 %u 1", group);
  write_file("/proc/self/gid_map", map);
  require(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mount --make-rprivate");
}

static void filter_calls(void) {
  struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {1, &allow};
  require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
              prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
          "seccomp");
}

// `to` is created below the new root, the current directory.
static void bind_there(const char* from, const char* to) {
  struct stat status;
  if (stat(from, &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    mkdir(to, 0755);
  } else {
    close(open(to, O_WRONLY | O_CREAT, 0600));
  }
  require(mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0, to);
}

static void enter_root(const char* root, int has_links) {
  // Not a tmpfs: root outside has no user in one of another user namespace.
  require(mount(root, root, NULL, MS_BIND, NULL) == 0 && chdir(root) == 0, root);
  bind_there("/usr", "usr");
  bind_there("/lib", "lib");
  bind_there("/lib64", "lib64");
  bind_there("/proc", "proc");
  bind_there(victim, "victim");
  static const char* const kPlaces[] = {"tmp", "var/tmp", "dev/shm"};
  require(mkdir("var", 0755) == 0 && mkdir("dev", 0755) == 0, "mkdir");
  for (int i = 0; i < 3; ++i) {
    require((has_links ? symlink(victim, kPlaces[i]) : mkdir(kPlaces[i], 0777)) == 0, kPlaces[i]);
  }
  require(chroot(".") == 0, "chroot");
}

// The directories of geiger in /tmp, one after another.
static void for_each_place(void (*attack)(const char* path)) {
  DIR* places = opendir("/tmp");
  for (const struct dirent* entry; places != NULL && (entry = readdir(places)) != NULL;) {
    char path[300];
    if (strncmp(entry->d_name, "geiger-", 7) != 0) continue;
    snprintf(path, sizeof path, "/tmp/%s", entry->d_name);
    attack(path);
  }
  if (places != NULL) closedir(places);
}

static void mount_over(const char* path) {
  struct stat place, other;
  if (stat(path, &place) != 0 || stat("/victim", &other) != 0) return;
  if (place.st_ino == other.st_ino && place.st_dev == other.st_dev) return;
  mount("/victim", path, NULL, MS_BIND, NULL);
}

static void swap_for_link(const char* path) {
  struct stat place;
  static int number = 0;
  char old[64];
  if (lstat(path, &place) != 0 || !S_ISDIR(place.st_mode)) return;
  snprintf(old, sizeof old, "/tmp/old-%d", ++number);
  if (rename(path, old) == 0) symlink(victim, path);
}

static void for_each_trace(const char* directory, void (*attack)(const char* path)) {
  DIR* traces = opendir(directory);
  for (const struct dirent* entry; traces != NULL && (entry = readdir(traces)) != NULL;) {
    char path[600];
    const size_t length = strlen(entry->d_name);
    if (length < 7 || strcmp(entry->d_name + length - 7, ".geiger") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    attack(path);
  }
  if (traces != NULL) closedir(traces);
}

static void cover_for_a_moment(const char* path) {
  if (mount("/victim", path, NULL, MS_BIND, NULL) != 0) return;
  sched_yield();
  umount2(path, MNT_DETACH);
}

static void hold(const char* directory) {
  DIR* files = opendir(directory);
  for (const struct dirent* entry; files != NULL && (entry = readdir(files)) != NULL;) {
    const int fd = entry->d_name[0] == '.' ? -1 : openat(dirfd(files), entry->d_name, O_RDONLY);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) close(fd);  // Else it stays open.
  }
  if (files != NULL) closedir(files);
}

static void cut(const char* path) {
  chmod(path, 0600);
  truncate(path, 0);
}

static void cover_traces(const char* directory) { for_each_trace(directory, cover_for_a_moment); }
static void cut_traces(const char* directory) { for_each_trace(directory, cut); }

static void mount_over_places(void) { for_each_place(mount_over); }
static void swap_places(void) { for_each_place(swap_for_link); }
static void cover_all(void) { for_each_place(cover_traces); }
static void cut_all(void) { for_each_place(cut_traces); }
static void hold_all(void) { for_each_place(hold); }

// The copy of the library gets the lowest free number.
static void take_descriptor(void) {
  const int other = open("/victim", O_RDONLY), next = open("/victim", O_RDONLY);
  close(next);
  while (fcntl(next, F_GETFD) < 0) {
  }
  dup2(other, next);
  usleep(100000);
  close(next);
  close(other);
}

static void do_nothing(void) { usleep(1000); }

static const struct {
  const char* name;
  void (*attack)(void);
} kAttacks[] = {
    {"link", do_nothing}, {"mount", mount_over_places},    {"swap", swap_places},
    {"cover", cover_all}, {"descriptor", take_descriptor}, {"cut", cut_all},
    {"hold", hold_all},
};

static void* attack_forever(void* attack) {
  while (1) ((void (*)(void))attack)();
  return NULL;
}

static void* allocate_forever(void* unused) {
  while (1) {
    void* volatile block = malloc(100000);
    free(block);
  }
  return unused;
}

int main(int argc, char** argv) {
  require(argc == 4, "usage");
  free(malloc(1 << 20));  // A runtime that is preloaded begins while this is root.
  victim = argv[2];
  void (*attack)(void) = NULL;
  for (size_t i = 0; i < sizeof kAttacks / sizeof kAttacks[0]; ++i) {
    if (strcmp(argv[1], kAttacks[i].name) == 0) attack = kAttacks[i].attack;
  }
  require(attack != NULL, argv[1]);
  enter_namespaces();
  enter_root(argv[3], attack == do_nothing);
  if (getenv("HOSTILE_FILTERED") != NULL) filter_calls();
  pthread_t thread;
  require(pthread_create(&thread, NULL, attack_forever, (void*)attack) == 0 &&
              pthread_create(&thread, NULL, allocate_forever, NULL) == 0,
          "pthread_create");
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  _exit(0);
}
