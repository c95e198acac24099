// SPDX-License-Identifier: MIT
//
// A program as they are written with obstacks: reads text in a C-like language, keeps a table of symbols for each
// scope, expands its own macros, and prints an index. Names, symbols and line numbers of a scope are freed in one
// step when the scope ends. It knows <obstack.h> only, and is built with the C library's and with Cairn's: what it
// prints must be the same.
//
//     def NAME words... end-of-line     defines a macro
//     NAME { ... }                      a scope: its index is printed when it ends
//     "strings" with \ and everything else: words, counted where they stand
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // the C library declares obstack_printf then
#endif
#include <ctype.h>
#include <obstack.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long chunks_out;

static void *take_chunk(size_t size) {
    ++chunks_out;
    return malloc(size);
}
static void give_chunk(void *chunk) {
    --chunks_out;
    free(chunk);
}
#define obstack_chunk_alloc take_chunk
#define obstack_chunk_free give_chunk

struct symbol {
    const char *name;
    struct symbol *next;
    int uses;
    int *lines; // of the uses, made when the scope ends
    struct use *first_use;
};

struct use {
    int line;
    struct use *next;
};

struct macro {
    const char *name;
    const char **words; // ends with a null pointer
    struct macro *next;
    int busy; // it is not expanded within itself
};

struct scope {
    const char *name;
    struct scope *outer;
    struct symbol *symbols;
    int depth;
};

static struct obstack names;   // macros and texts that stay
static struct obstack scopes;  // everything of a scope, freed with it
static struct obstack scratch; // what is built and thrown away at once
static struct obstack lists;   // a list that grows while words grow on `scratch`
static struct macro *macros;
static struct scope *scope;
static int line = 1;
static int pushed_back = -2;
static unsigned long longest, words, strings;

static int next_char(void) {
    int c = pushed_back != -2 ? pushed_back : getchar();
    pushed_back = -2;
    line += c == '\n';
    return c;
}
static void push_back(int c) {
    pushed_back = c;
    line -= c == '\n';
}

// The word grows on `scratch`; the caller frees it.
static char *read_word(int first) {
    int c = first;
    do {
        obstack_1grow(&scratch, (char)c);
        c = next_char();
    } while (c == '_' || isalnum(c));
    push_back(c);
    if ((unsigned long)obstack_object_size(&scratch) > longest)
        longest = (unsigned long)obstack_object_size(&scratch);
    obstack_1grow(&scratch, '\0');
    return obstack_finish(&scratch);
}

static void read_string(void) {
    int c;
    ++strings;
    while ((c = next_char()) != '"' && c != EOF) {
        if (c == '\\') {
            c = next_char();
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        if (obstack_room(&names) > 1)
            obstack_1grow_fast(&names, (char)c);
        else
            obstack_1grow(&names, (char)c);
        if (c == '\n') { // strings end with their line: the newline is taken off again
            obstack_blank_fast(&names, -1);
            break;
        }
    }
    obstack_grow0(&names, "\"", 1);
    if (obstack_object_size(&names) > 60) { // too long to keep
        printf("  a string of %lu bytes\n", (unsigned long)obstack_object_size(&names));
        obstack_free(&names, obstack_base(&names));
    } else {
        const char *text = obstack_finish(&names);
        printf("  string \"%s\n", text);
    }
}

static void open_scope(const char *name) {
    struct scope *s = obstack_alloc(&scopes, sizeof *s);
    s->outer = scope;
    s->symbols = NULL;
    s->depth = scope == NULL ? 0 : scope->depth + 1;
    scope = s;
    s->name = obstack_copy0(&scopes, name, strlen(name));
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(struct symbol *const *)a)->name, (*(struct symbol *const *)b)->name);
}

static void close_scope(void) {
    struct scope *const s = scope;
    struct symbol **table;
    struct symbol *symbol;
    size_t count = 0;
    size_t i;
    // The lines of each symbol as an array of ints, newest first, ended by a 0.
    for (symbol = s->symbols; symbol != NULL; symbol = symbol->next) {
        struct use *use;
        obstack_make_room(&scopes, (symbol->uses + 1) * (int)sizeof(int));
        for (use = symbol->first_use; use != NULL; use = use->next)
            obstack_int_grow_fast(&scopes, use->line);
        obstack_int_grow(&scopes, 0);
        symbol->lines = obstack_finish(&scopes);
        obstack_ptr_grow(&scratch, symbol);
        ++count;
    }
    obstack_make_room(&scratch, (int)sizeof(void *));
    obstack_ptr_grow_fast(&scratch, NULL);
    table = obstack_finish(&scratch);
    qsort(table, count, sizeof *table, by_name);
    printf("scope %s, depth %d, %lu symbols\n", s->name, s->depth, (unsigned long)count);
    for (i = 0; table[i] != NULL; ++i) {
        const int *n;
        obstack_printf(&scratch, "  %-*s %4d:", 20, table[i]->name, table[i]->uses);
        for (n = table[i]->lines; *n != 0 && n < table[i]->lines + 12; ++n)
            obstack_printf(&scratch, " %d", *n);
        obstack_1grow(&scratch, '\0');
        puts(obstack_finish(&scratch));
    }
    obstack_free(&scratch, table);
    scope = s->outer;
    obstack_free(&scopes, s); // and everything that was allocated since
}

static void count_word(const char *word) {
    struct symbol *symbol;
    struct use *use;
    struct macro *macro;
    for (macro = macros; macro != NULL; macro = macro->next) {
        if (!macro->busy && strcmp(macro->name, word) == 0) {
            const char **w;
            macro->busy = 1;
            for (w = macro->words; *w != NULL; ++w)
                count_word(*w);
            macro->busy = 0;
            return;
        }
    }
    ++words;
    for (symbol = scope->symbols; symbol != NULL; symbol = symbol->next)
        if (strcmp(symbol->name, word) == 0)
            break;
    if (symbol == NULL) {
        obstack_blank(&scopes, (int)sizeof *symbol);
        symbol = obstack_base(&scopes);
        memset(symbol, 0, sizeof *symbol);
        symbol = obstack_finish(&scopes);
        symbol->name = obstack_copy(&scopes, word, strlen(word) + 1);
        symbol->next = scope->symbols;
        scope->symbols = symbol;
    }
    use = obstack_alloc(&scopes, sizeof *use);
    if ((size_t)use % sizeof(void *) != 0 || (size_t)symbol % sizeof(void *) != 0)
        puts("misaligned");
    use->line = line;
    use->next = symbol->first_use;
    symbol->first_use = use;
    ++symbol->uses;
}

static void define_macro(void) {
    struct macro *macro = obstack_alloc(&names, sizeof *macro);
    int c;
    int count = 0;
    macro->name = NULL;
    macro->busy = 0;
    while ((c = next_char()) != '\n' && c != EOF) {
        if (c == '_' || isalpha(c)) {
            char *word = read_word(c);
            const char *kept = obstack_copy0(&names, word, strlen(word));
            obstack_free(&scratch, word);
            if (macro->name == NULL)
                macro->name = kept;
            else
                obstack_ptr_grow(&lists, kept), ++count;
        }
    }
    obstack_ptr_grow(&lists, NULL);
    macro->words = obstack_copy(&names, obstack_base(&lists), obstack_object_size(&lists));
    obstack_free(&lists, obstack_finish(&lists));
    if (macro->name == NULL) {
        obstack_free(&names, macro);
        return;
    }
    macro->next = macros;
    macros = macro;
    printf("macro %s, %d words\n", macro->name, count);
}

static void read_text(void) {
    char *before = obstack_copy0(&scratch, "top", 3); // the last word: the name of a scope
    int c;
    while ((c = next_char()) != EOF) {
        if (c == '_' || isalpha(c)) {
            char *word;
            obstack_free(&scratch, before);
            word = read_word(c);
            if (strcmp(word, "def") == 0)
                define_macro();
            else
                count_word(word);
            before = word;
        } else if (c == '"') {
            read_string();
        } else if (c == '{') {
            open_scope(before);
        } else if (c == '}' && scope->outer != NULL) {
            close_scope();
        }
    }
}

// ---- The less usual parts, each on an obstack of its own.

static jmp_buf no_memory;
static void leave(void) {
    longjmp(no_memory, 1);
}

struct budget {
    size_t left;
    int blocks;
};
static void *take_from(void *budget, size_t size) {
    struct budget *const b = budget;
    if (size > b->left)
        return NULL;
    b->left -= size;
    ++b->blocks;
    return malloc(size);
}
static void give_to(void *budget, void *chunk) {
    --((struct budget *)budget)->blocks;
    free(chunk);
}

static void run_out_of_memory(void) {
    struct obstack h;
    struct budget budget = {100000, 0};
    char *volatile kept = NULL;
    void (*const usual)(void) = obstack_alloc_failed_handler;
    obstack_alloc_failed_handler = leave;
    if (setjmp(no_memory) == 0) {
        obstack_specify_allocation_with_arg(&h, 500, 64, take_from, give_to, &budget);
        printf("aligned to 64: %d, mask %d\n", (int)((size_t)obstack_alloc(&h, 3) % 64),
               (int)obstack_alignment_mask(&h));
        kept = obstack_copy0(&h, "kept", 4);
        for (;;)
            obstack_grow(&h, "0123456789", 10);
    }
    printf("out of memory, %s, %d\n", kept, obstack_object_size(&h) % 10 == 0);
    obstack_free(&h, NULL);
    printf("blocks left: %d\n", budget.blocks);
    obstack_alloc_failed_handler = usual;
}

static void try_corners(void) {
    struct obstack h;
    char *mark;
    char *a;
    int i;
    printf("begin: %d\n", obstack_begin(&h, 200));
    obstack_chunk_size(&h) = 1000;
    obstack_alignment_mask(&h) = 0; // bytes close together
    printf("empty: %d\n", obstack_empty_p(&h) != 0);
    a = obstack_copy(&h, "abc", 3);
    printf("side by side: %d\n", (char *)obstack_copy(&h, "def", 3) == a + 3 && memcmp(a, "abcdef", 6) == 0);
    mark = obstack_alloc(&h, 0);
    for (i = 0; i < 5000; ++i)
        obstack_int_grow(&h, i);
    printf("grown: %lu, last %d\n", (unsigned long)obstack_object_size(&h),
           ((int *)obstack_next_free(&h))[-1] == 4999);
    obstack_blank(&h, -8);
    printf("shrunk: %lu\n", (unsigned long)obstack_object_size(&h));
    (void)obstack_finish(&h);
    printf("used: %d\n", obstack_memory_used(&h) >= 20000 && obstack_memory_used(&h) < 100000);
    obstack_free(&h, mark);
    printf("the mark again: %d\n", obstack_next_free(&h) == mark);
    printf("the first still: %.6s\n", a);
    obstack_free(&h, a);
    printf("empty: %d\n", obstack_empty_p(&h) != 0);
    printf("printed: %d", obstack_printf(&h, "%0*d", 3000, 7));
    printf(" of %lu\n", (unsigned long)obstack_object_size(&h));
    obstack_free(&h, NULL);
}

int main(void) {
    obstack_init(&names);
    obstack_begin(&scopes, 256); // small, so that chunks end often
    obstack_begin(&scratch, 64);
    obstack_init(&lists);
    open_scope("top");
    read_text();
    while (scope != NULL)
        close_scope();
    printf("%lu words, %lu strings, the longest word has %lu letters, %d lines\n", words, strings, longest,
           line);
    try_corners();
    run_out_of_memory();
    obstack_free(&scopes, NULL);
    obstack_free(&scratch, NULL);
    obstack_free(&lists, NULL);
    obstack_free(&names, NULL);
    printf("chunks left: %ld\n", chunks_out);
    return 0;
}
