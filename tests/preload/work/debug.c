/* SPDX-License-Identifier: MIT
 * What gdb looks at: recursion, structures, threads waiting, memory from malloc. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    int value;
    const char *name;
    struct node *left, *right;
};

static pthread_barrier_t barrier;

static struct node *insert(struct node *tree, int value) {
    if (tree == NULL) {
        tree = calloc(1, sizeof *tree);
        tree->value = value;
        tree->name = strdup(value % 2 ? "odd" : "even");
        return tree;
    }
    if (value < tree->value) {
        tree->left = insert(tree->left, value);
    } else {
        tree->right = insert(tree->right, value);
    }
    return tree;
}

static int found(const struct node *tree, int value, int depth) {
    if (tree == NULL || tree->value == value) {
        return depth; /* here */
    }
    return found(value < tree->value ? tree->left : tree->right, value, depth + 1);
}

static void *wait_for_others(void *argument) {
    char *mine = malloc(1000);
    memset(mine, 'a' + *(int *)argument, 1000);
    pthread_barrier_wait(&barrier);
    free(mine);
    return NULL;
}

int main(void) {
    struct node *tree = NULL;
    for (int i = 0; i < 200; i++) {
        tree = insert(tree, (i * 79) % 211);
    }
    int numbers[3] = {0, 1, 2};
    pthread_t threads[3];
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, wait_for_others, &numbers[i]);
    }
    printf("depth %d\n", found(tree, 100, 0));
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
