// SPDX-License-Identifier: MIT
//
// A parser that tries and backtracks, on xalloc: all readings of a sum of words as a tree. A node is allocated when a
// reading is tried and freed when it leads nowhere, mostly the youngest first; results are kept until the sentence
// ends. Prints the readings and where in memory each thing lies, counted from the first block.
#include <cairn/xalloc.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct node {
    const struct node *left, *right;
    char word[8];
};
struct list {
    struct node *tree;
    struct list *next;
};

static const char *first_block;
static unsigned long places;
static unsigned long failures;

static void *take(size_t size) {
    char *const block = xalloc(size);
    if (block == NULL) {
        failures += errno == ENOMEM;
        return NULL;
    }
    if (first_block == NULL)
        first_block = block;
    places = places * 31 + (unsigned long)(block - first_block);
    return block;
}

static void print_tree(const struct node *tree) {
    if (tree->left == NULL) {
        printf("%s", tree->word);
    } else {
        printf("(");
        print_tree(tree->left);
        printf(" ");
        print_tree(tree->right);
        printf(")");
    }
}

static int depth_of(const struct node *tree) {
    const int left = tree->left == NULL ? 0 : depth_of(tree->left);
    const int right = tree->right == NULL ? 0 : depth_of(tree->right);
    return 1 + (left > right ? left : right);
}

static void free_cells(struct list *cell) {
    while (cell != NULL) {
        struct list *const next = cell->next;
        xfree(cell);
        cell = next;
    }
}

// All trees over words[from, to) of at most `depth` levels, youngest first.
static struct list *readings(const char *const *words, int from, int to, int depth) {
    struct list *found = NULL;
    int middle;
    if (to - from == 1) {
        struct list *one = take(sizeof *one);
        struct node *leaf = take(sizeof *leaf);
        if (one == NULL || leaf == NULL) {
            xfree(leaf);
            xfree(one);
            return NULL;
        }
        memset(leaf, 0, sizeof *leaf);
        strncpy(leaf->word, words[from], sizeof leaf->word - 1);
        one->tree = leaf;
        one->next = NULL;
        return one;
    }
    for (middle = from + 1; middle < to && depth > 1; ++middle) {
        struct list *const lefts = readings(words, from, middle, depth - 1);
        struct list *const rights = lefts == NULL ? NULL : readings(words, middle, to, depth - 1);
        struct list *l, *r;
        for (l = lefts; l != NULL; l = l->next) {
            for (r = rights; r != NULL; r = r->next) {
                struct node *const tree = take(sizeof *tree);
                struct list *const cell = take(sizeof *cell + (size_t)(from % 3) * 8);
                if (cell == NULL) {
                    xfree(tree);
                    continue;
                }
                tree->left = l->tree;
                tree->right = r->tree;
                tree->word[0] = 0;
                if (depth_of(tree) > depth) { // leads nowhere
                    if ((from + to) % 2 == 0) {
                        xfree(cell);
                        xfree(tree);
                    } else {
                        xfree(tree);
                        xfree(cell);
                    }
                    continue;
                }
                cell->tree = tree;
                cell->next = found;
                found = cell;
            }
        }
        // The cells of the parts are not needed any more, their trees are.
        free_cells(rights);
        free_cells(lefts);
    }
    return found;
}

static void parse(const char *const *words, int count, int depth) {
    struct list *const found = readings(words, 0, count, depth);
    const struct list *l;
    int n = 0;
    for (l = found; l != NULL; l = l->next) {
        if (n++ < 5) {
            printf("  at %ld: ", (long)((const char *)l->tree - first_block));
            print_tree(l->tree);
            printf("\n");
        }
    }
    printf("%d words, depth %d: %d readings, left %lu\n", count, depth, n, (unsigned long)xalloc_remaining());
    for (l = found; l != NULL; l = l->next)
        xfree(l->tree);
    printf("then left %lu, places %lx\n", (unsigned long)xalloc_remaining(), places);
    xalloc_clear();
    printf("cleared: %lu\n", (unsigned long)xalloc_remaining());
}

int main(void) {
    static const char *const words[] = {"time",  "flies", "like", "an", "arrow",
                                        "fruit", "flies", "like", "a",  "banana"};
    int count, depth;
    xfree(NULL);
    for (count = 1; count <= 8; ++count)
        for (depth = 2; depth <= 5; ++depth)
            parse(words + count % 3, count, depth);
    printf("failures %lu\n", failures);
    first_block = NULL;
    printf("limit: %d\n", xalloc_init(4000));
    for (count = 3; count <= 7; ++count)
        parse(words, count, 4);
    printf("failures %lu\n", failures);
    printf("too small: %d", xalloc_init(10));
    printf(" %d\n", xalloc(1) == NULL && errno == ENOMEM);
    printf("again: %d\n", xalloc_init(64) == 0 && xalloc(48) != NULL && xalloc(0) == NULL);
    return 0;
}
