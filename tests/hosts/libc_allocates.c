/* Allocates through functions of the C library, which have no unwind tables in musl, and in
   callbacks of one. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void duplicate(void) {
  for (int i = 0; i < 200; ++i) free(strdup("a text of some length"));
}

__attribute__((noinline)) static void print(void) {
  for (int i = 0; i < 200; ++i) {
    char* text = NULL;
    if (asprintf(&text, "%d %s", i, "and a text") > 0) free(text);
  }
}

__attribute__((noinline)) static void list(void) {
  for (int i = 0; i < 100; ++i) closedir(opendir("/"));
}

__attribute__((noinline)) static void read_lines(void) {
  for (int i = 0; i < 20; ++i) {
    FILE* file = fopen("/proc/self/status", "r");
    char* line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) continue;
    free(line);
    fclose(file);
  }
}

static int compare(const void* a, const void* b) {
  free(malloc(40));
  return *(const int*)a - *(const int*)b;
}

__attribute__((noinline)) static void sort(void) {
  int numbers[100];
  for (int i = 0; i < 100; ++i) numbers[i] = i * 7919 % 101;
  qsort(numbers, 100, sizeof numbers[0], compare);
}

int main(void) {
  duplicate();
  print();
  list();
  read_lines();
  sort();
  return 0;
}
