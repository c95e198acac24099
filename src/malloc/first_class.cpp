// SPDX-License-Identifier: MIT
#include "first_class.hpp"
#include "first_class_heap.hpp"
#include "signals.hpp"

#include <new>
#include <pthread.h>

namespace cairn::process_heap {
namespace {

constinit sync::Lock list_lock{sync::Rank::thread_heap};
constinit FirstClassHeap *all_heaps = nullptr;

/// After memory may have been taken from the operating system. The caller holds no lock.
void handle_growth() {
    if (heap.levels().after_growth()) {
        Hooks::grew();
    }
}

/// After memory was freed. The caller holds no lock.
void handle_surplus() {
    if (heap.levels().surplus_bytes() > heap.surplus_limit()) {
        Hooks::surplus();
    }
}

FirstClassHeap &checked(FirstClassHeap *h, const char *what) {
    if (h == nullptr || h->magic != FirstClassHeap::alive) {
        platform::fatal({what, " ", static_cast<const void *>(h), ", which is no heap, or a destroyed one"});
    }
    return *h;
}

// ---- statistics; the caller holds the lock of the list

void add_heaps_locked(Statistics &out) {
    for (FirstClassHeap *h = all_heaps; h != nullptr; h = h->next) {
        const sync::Glance hold(h->lock);
        h->add_to(out);
    }
}

// ---- fork

sigset_t mask_before_fork; // of the thread that forks, which holds list_lock

/// Blocks signals: a handler that forks would wait for locks that the interrupted thread holds for its own fork.
void before_fork() {
    const sigset_t before = hold_back_signals();
    list_lock.hold_across_fork();
    mask_before_fork = before;
    for (FirstClassHeap *h = all_heaps; h != nullptr; h = h->next) {
        h->lock.hold_across_fork();
    }
}

void after_fork() {
    for (FirstClassHeap *h = all_heaps; h != nullptr; h = h->next) {
        h->lock.let_go_after_fork();
    }
    const sigset_t before = mask_before_fork;
    list_lock.let_go_after_fork();
    let_signals_through(before);
}

} // namespace

void keep_heaps_across_fork() noexcept {
    pthread_atfork(before_fork, after_fork, after_fork);
}

void untouch_after_fork() noexcept {
    for (const FirstClassHeap *h = all_heaps; h != nullptr; h = h->next) {
        FirstClassHeap::maker().runs().untouch(h->untouched());
    }
}

FirstClassHeap *create() noexcept {
    void *const memory = heap.malloc(sizeof(FirstClassHeap));
    if (memory == nullptr) {
        return nullptr;
    }
    auto *const h = new (memory) FirstClassHeap;
    sync::Guard hold(list_lock);
    h->next = all_heaps;
    if (all_heaps != nullptr) {
        all_heaps->previous = h;
    }
    all_heaps = h;
    return h;
}

void *allocate(FirstClassHeap *which, std::size_t size, std::size_t alignment) noexcept {
    FirstClassHeap &h = checked(which, "cairn_heap_alloc from");
    if (CAIRN_UNLIKELY(heap.levels().long_blocks().is_beyond_all(size, alignment))) {
        return nullptr; // no memory that could be given back would help
    }
    const auto attempt = [&] {
        sync::Guard hold(h.lock);
        return h.allocate(size, alignment);
    };
    void *p = attempt();
    if (CAIRN_UNLIKELY(p == nullptr)) {
        heap.trim(0); // whatever it returns: locked pages do not go back, and serve all the same
        heap.levels().give_up_caches();
        p = attempt();
    }
    handle_growth();
    return p;
}

void deallocate(FirstClassHeap *which, void *p) noexcept {
    FirstClassHeap &h = checked(which, "cairn_heap_free to");
    if (p == nullptr) {
        return;
    }
    {
        sync::Guard hold(h.lock);
        h.deallocate(p);
    }
    handle_surplus();
}

void destroy(FirstClassHeap *which) noexcept {
    if (which == nullptr) {
        return;
    }
    FirstClassHeap &h = checked(which, "cairn_heap_destroy of");
    {
        sync::Guard hold(h.lock); // nobody else may use it, but another thread may fork or read statistics
        h.magic = 0;
        h.clear();
    }
    {
        sync::Guard hold(list_lock);
        if (h.previous != nullptr) {
            h.previous->next = h.next;
        } else {
            all_heaps = h.next;
        }
        if (h.next != nullptr) {
            h.next->previous = h.previous;
        }
    }
    heap.free(&h);
    handle_surplus();
}

void whole_statistics(Statistics &out, bool at_exit) noexcept {
    statistics(out);
    const sigset_t before = hold_back_signals(); // a handler that forks would wait for the lock of the list
    if (at_exit) {
        const sync::Glance hold(list_lock);
        if (hold) {
            add_heaps_locked(out);
        }
    } else { // a thread that forks holds the lock until the fork is done
        const sync::Guard hold(list_lock);
        add_heaps_locked(out);
    }
    let_signals_through(before);
}

} // namespace cairn::process_heap
