/* Sorting through a tree of blocks; large enough for an optimiser to have work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { struct node *left, *right; char key[32]; };

static struct node *insert(struct node *at, const char *key) {
  if (!at) {
    at = calloc(1, sizeof *at);
    strncpy(at->key, key, sizeof at->key - 1);
    return at;
  }
  int order = strcmp(key, at->key);
  if (order < 0) at->left = insert(at->left, key);
  if (order > 0) at->right = insert(at->right, key);
  return at;
}

static unsigned count(const struct node *at) {
  return at ? 1 + count(at->left) + count(at->right) : 0;
}

int main(void) {
  struct node *root = NULL;
  unsigned long state = 1;
  for (int i = 0; i < 5000; i++) {
    char key[32];
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    snprintf(key, sizeof key, "%lu", state >> 50);
    root = insert(root, key);
  }
  printf("%u\n", count(root));
  return count(root) % 7;
}
