// SPDX-License-Identifier: MIT
//
// The protocol of docs/visits.md: one owner that uses its superblocks by plain stores and loads, and visitors that take
// superblocks from it. The code is include/cairn/sync/presence.hpp and include/cairn/thread/taking.hpp; the steps O1 to O4
// and V1 to V8 are the page's.
//
// Memory: a store of the owner waits in a buffer and reaches memory at any later time, also before older ones to other
// cells; a release (mark, lock) does not pass older ones. The owner's loads look into its buffer first. A heavy fence of a
// visitor empties the buffer. Visitors' own stores are in memory at once: fences and releases order them.
//
// Checked: nobody uses a superblock that another is using; each use sees what the one before did; the owner and a visitor
// are not in the heap's lists together (inside, visiting). And with -DSTOP, where the owner stops for good somewhere: a
// visitor comes to its end all the same. If it could not go on, that would be an invalid end state, which Spin reports.
// With -DGATHERING, the owner also has a chain of others' blocks, which a visitor gives back. With -DFENCED there is no
// heavy fence: the owner passes a fence of its own whenever it goes inside, and uses nothing elsewhere. With -DRECENT the
// superblocks are of medium blocks: a free notes its superblock, from which the next malloc takes a block.
//
// holds: -DSUPERBLOCKS=2 -DVISITORS=1 -DROOM=2
// holds: -DSUPERBLOCKS=1 -DVISITORS=2 -DROOM=3
// holds: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DSTOP
// holds: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=2 -DGATHERING
// holds: -DSUPERBLOCKS=1 -DVISITORS=2 -DROOM=2 -DGATHERING
// holds: -DSUPERBLOCKS=1 -DVISITORS=2 -DROOM=3 -DFENCED
// holds: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DRECENT
// holds: -DSUPERBLOCKS=2 -DVISITORS=1 -DROOM=2 -DRECENT
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DNO_FENCE_V2
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DNO_FENCE_V5
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DBIN_BEFORE_MARK
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DBIN_NOT_HIDDEN
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DPLAIN_MARK
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DSTOP -DVISITOR_WAITS
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=2 -DGATHERING -DGATHERS_IN_A_VISIT
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=2 -DGATHERING -DCHAIN_NOT_LOOKED_FOR
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=2 -DGATHERING -DLOCK_BEFORE_MARK
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DFENCED -DNO_FENCE_INSIDE
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DRECENT -DRECENT_NOT_HIDDEN
// fails: -DSUPERBLOCKS=2 -DVISITORS=1 -DROOM=2 -DRECENT -DHIDDEN_BY_A_STORE
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DRECENT -DSHOWN_AGAIN_NOT_SEEN
// fails: -DSUPERBLOCKS=1 -DVISITORS=1 -DROOM=3 -DRECENT -DNOTED_BEHIND_THE_SECTION

// The cells of memory, and what the owner's mark may say.
#define MARK 0
#define LOCK 1
#define BIN 2
#define OWNER(s) (3 + (s))
#define PLACE(s) (5 + (s))
#define DATA(s) (7 + (s))
#define RECENT_ONE 9
#define CELLS 10

#define NULL 0
#define AT(s) (1 + (s)) // a superblock, for the mark, the bin and the recent one
#define HIDDEN(s) (8 + (s)) // the recent one
#define THE_BIN 4
#define INSIDE 5
#define THE_CHAIN 6

#define MINE 1 // OWNER
#define ANOTHERS 2
#define PARTIAL 0 // PLACE
#define CURRENT 1

byte memory[CELLS] = { 0, 0, 1, 1, 1, 1, 0, 0, 0, 0 }; // both are the owner's, the first one is in the bin

// What is so, whatever anybody sees. The chain comes behind the superblocks.
#ifdef GATHERING
#define THINGS (SUPERBLOCKS + 1)
#define CHAIN SUPERBLOCKS
#else
#define THINGS SUPERBLOCKS
#endif
byte users[THINGS];
bit truth[THINGS];
bool inside, visiting, asleep;

// ---- the owner's store buffer: the oldest entry first

byte waiting;
byte cell[ROOM], stored[ROOM];
hidden byte i, j;

inline leaves_buffer(k) { // a store reaches memory
    memory[cell[k]] = stored[k];
    j = k;
    do
    :: j + 1 < waiting -> cell[j] = cell[j + 1]; stored[j] = stored[j + 1]; j++
    :: else -> break
    od;
    waiting--;
    cell[waiting] = 0; stored[waiting] = 0; j = 0
}

inline store(c, v) {
    atomic { waiting < ROOM -> cell[waiting] = c; stored[waiting] = v; waiting++ }
}

inline load(c, v) {
    d_step {
        v = memory[c];
        i = 0;
        do
        :: i < waiting -> if :: cell[i] == c -> v = stored[i] :: else fi; i++
        :: else -> break
        od;
        i = 0
    }
}

inline heavy_fence() {
    d_step {
        do
        :: waiting > 0 -> leaves_buffer(0)
        :: else -> break
        od
    }
}

#ifdef PLAIN_MARK
#define is_release(c) false
#else
#define is_release(c) ((c) == MARK || (c) == LOCK)
#endif
#define may_leave(k) (waiting > k && !is_release(cell[k]) && \
                      (k < 1 || cell[0] != cell[k]) && (k < 2 || cell[1] != cell[k]))

active proctype buffer() {
end:
    do
    :: d_step { waiting > 0 -> leaves_buffer(0) }
    :: d_step { may_leave(1) -> leaves_buffer(1) }
    :: d_step { may_leave(2) -> leaves_buffer(2) }
    od
}

// ---- the owner

inline starts_to_use(b) { users[b]++; assert(users[b] == 1) }
inline ends_using(b) { users[b]-- }

inline owner_uses(b) { // reads, changes, writes back
    atomic { starts_to_use(b); load(DATA(b), found); assert(found == truth[b]) }
    atomic { store(DATA(b), 1 - found); truth[b] = 1 - truth[b]; ends_using(b) }
}

inline may_end() { // O4, where the superblock is a long one
#ifdef RECENT
    store(MARK, NULL)
#else
    if
    :: store(MARK, NULL)
    :: true
    fi
#endif
}

inline notes(s) {
    if
    :: store(RECENT_ONE, AT(s))
    :: store(RECENT_ONE, NULL) // it is nearly empty
    fi
}

inline owner_frees() {
    store(MARK, AT(s)); // O1
    load(OWNER(s), found); // O2
    if
    :: found == MINE ->
#if defined(RECENT) && !defined(NOTED_BEHIND_THE_SECTION)
        notes(s);
#endif
        owner_uses(s) // O3
#ifdef NOTED_BEHIND_THE_SECTION
        ; store(MARK, NULL);
        notes(s)
#endif
    :: else // a remote free, which is for anybody
    fi;
    may_end()
}

inline owner_allocates() {
#ifdef BIN_BEFORE_MARK
    load(BIN, found);
    store(MARK, THE_BIN);
#else
    store(MARK, THE_BIN); // O1
#ifdef RECENT
    load(RECENT_ONE, found); // O2
    if
    :: found == NULL || found >= HIDDEN(0) -> load(BIN, found)
    :: else
    fi;
#else
    load(BIN, found); // O2
#endif
#endif
    if
    :: found != NULL -> s = found - 1; owner_uses(s) // O3
    :: else
    fi;
    may_end()
}

#ifdef GATHERING
inline owner_gathers() {
#ifdef LOCK_BEFORE_MARK
    load(LOCK, found);
    store(MARK, THE_CHAIN);
#else
    store(MARK, THE_CHAIN);
    load(LOCK, found);
#endif
    if
#ifdef GATHERS_IN_A_VISIT
    :: true -> owner_uses(CHAIN)
#else
    :: found == NULL -> owner_uses(CHAIN)
    :: else // the block goes back alone
#endif
    fi;
    store(MARK, NULL)
}
#endif

inline marks_inside() {
    store(MARK, INSIDE);
#if defined(FENCED) && !defined(NO_FENCE_INSIDE)
    heavy_fence(); // its own
#endif
    load(LOCK, found)
}

inline owner_works_inside() {
    marks_inside();
    do
    :: found != NULL ->
        store(MARK, NULL);
        atomic { memory[LOCK] == NULL -> memory[LOCK] = 1 }
        store(LOCK, NULL);
        marks_inside()
    :: else -> break
    od;
    atomic { inside = true; assert(!visiting); load(OWNER(s), found) }
    if
    :: found == MINE ->
#ifdef FENCED
        owner_uses(s);
#endif
        load(BIN, found);
        if // into the bin, or out of it
        :: found == NULL -> store(PLACE(s), CURRENT); store(BIN, AT(s))
        :: found == AT(s) -> store(PLACE(s), PARTIAL); store(BIN, NULL)
        :: else
        fi
    :: else
    fi;
#ifdef GATHERING
    if
    :: owner_uses(CHAIN) // gives it back
    :: true
    fi;
#endif
    atomic { store(MARK, NULL); inside = false }
}

active proctype owner() {
    byte s, found; // its registers
    {
        do
        :: select(s : 0 .. SUPERBLOCKS - 1);
            if
#ifndef FENCED
            :: owner_frees()
            :: owner_allocates()
#endif
#ifdef GATHERING
            :: owner_gathers()
#endif
            :: owner_works_inside()
            fi;
            s = 0; found = 0
        od
    }
#ifdef STOP
    unless { asleep }
#endif
}

#ifdef STOP // the owner for good, wherever it is
active proctype stop() { asleep = true }
#endif

// ---- visitors, and whoever gets what they give away

inline visitor_uses(b) {
    atomic { starts_to_use(b); assert(memory[DATA(b)] == truth[b]) }
    atomic { memory[DATA(b)] = 1 - memory[DATA(b)]; truth[b] = 1 - truth[b]; ends_using(b) }
}

#if defined(RECENT) && defined(SHOWN_AGAIN_NOT_SEEN)
#define may_be_read(b) (mark == THE_BIN && memory[RECENT_ONE] == HIDDEN(b))
#elif defined(RECENT)
#define may_be_read(b) (memory[RECENT_ONE] == AT(b) || (mark == THE_BIN && memory[RECENT_ONE] == HIDDEN(b)))
#else
#define may_be_read(b) false
#endif
#define in_use(b) (mark == AT(b) || (mark == THE_BIN && memory[PLACE(b)] == CURRENT) || may_be_read(b))

inline forgets(b) {
    if
    :: atomic { memory[RECENT_ONE] == AT(b) || memory[RECENT_ONE] == HIDDEN(b) -> memory[RECENT_ONE] = NULL }
    :: else
    fi
}

inline puts_back(b) {
    memory[OWNER(b)] = MINE;
    if
    :: memory[PLACE(b)] == CURRENT -> memory[BIN] = AT(b)
    :: else
    fi
}

active [VISITORS] proctype visitor() {
    byte mark, b;
    bool taken[SUPERBLOCKS], given[SUPERBLOCKS];

    if // V1
    :: atomic { memory[LOCK] == NULL -> memory[LOCK] = 1 }
    :: memory[LOCK] != NULL -> goto out
    fi;
#if !defined(NO_FENCE_V2) && !defined(FENCED)
    heavy_fence(); // V2
#endif
    if // V3
#ifdef VISITOR_WAITS
    :: memory[MARK] != INSIDE
#else
    :: memory[MARK] == INSIDE -> memory[LOCK] = NULL; goto out
    :: memory[MARK] != INSIDE
#endif
    fi;
    atomic { visiting = true; assert(!inside) }
    b = 0;
    do // V4
    :: b < SUPERBLOCKS ->
        if
        :: memory[OWNER(b)] == MINE ->
            memory[OWNER(b)] = NULL;
#ifdef RECENT_NOT_HIDDEN
            forgets(b);
#elif defined(RECENT)
            if
#ifdef HIDDEN_BY_A_STORE
            :: memory[RECENT_ONE] == AT(b) -> memory[RECENT_ONE] = HIDDEN(b)
#else
            :: atomic { memory[RECENT_ONE] == AT(b) -> memory[RECENT_ONE] = HIDDEN(b) }
#endif
            :: else
            fi;
#endif
#ifndef BIN_NOT_HIDDEN
            if
            :: memory[PLACE(b)] == CURRENT -> memory[BIN] = NULL
            :: else
            fi;
#endif
            taken[b] = true
        :: true
        fi;
        b++
    :: else -> break
    od;
#ifdef FENCED
    mark = NULL; // whatever it says
#else
#ifndef NO_FENCE_V5
    heavy_fence(); // V5
#endif
    mark = memory[MARK]; // V6
#endif
    b = 0;
    do // V7
    :: b < SUPERBLOCKS ->
        if
        :: taken[b] && in_use(b) -> puts_back(b)
        :: taken[b] && !in_use(b) ->
            visitor_uses(b);
            if
            :: puts_back(b)
            :: forgets(b); memory[OWNER(b)] = ANOTHERS; given[b] = true
            fi
        :: else
        fi;
        b++
    :: else -> break
    od;
#ifdef GATHERING
#ifdef CHAIN_NOT_LOOKED_FOR
    visitor_uses(CHAIN);
#else
    mark = memory[MARK];
    if
    :: mark != THE_CHAIN -> visitor_uses(CHAIN)
    :: else
    fi;
#endif
#endif
    visiting = false;
    memory[LOCK] = NULL; // V8
    b = 0;
    do // its new owner
    :: b < SUPERBLOCKS ->
        if
        :: given[b] -> visitor_uses(b)
        :: else
        fi;
        b++
    :: else -> break
    od;
out:
    skip
}
