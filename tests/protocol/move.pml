// SPDX-License-Identifier: MIT
//
// NBmalloc's Move as docs/nbmalloc.md has it: superblocks go from slot to slot, whoever meets a registered move helps, and
// any thread may be asleep between any two steps for as long as it likes. The code is
// include/cairn/family/nbmalloc_move.hpp; the numbers of the steps are the page's. All of it is sequentially consistent
// there, so here a step is one change of memory.
//
// Each slot is a flat-set of its own: a search looks at its set's `current`, at the slot, and sets the empty flag if
// nothing has changed meanwhile. (The page's section "The empty flag".)
//
// Checked after every change: the page's invariant, and that no superblock is settled in a set that says it is empty. And
// that every execution ends: no thread goes round in circles until another does something.
//
// holds: -DMOVERS=3 -DMOVES=1 -DSEARCHES=1
// holds: -DMOVERS=2 -DMOVES=2 -DSEARCHES=0
// ends: -DMOVERS=3 -DMOVES=1 -DSEARCHES=0
// fails: -DMOVERS=2 -DMOVES=2 -DSEARCHES=0 -DPAPERS_HELP
// fails: -DMOVERS=2 -DMOVES=2 -DSEARCHES=0 -DTO_ITSELF
// fails: -DMOVERS=1 -DMOVES=1 -DSEARCHES=1 -DLATE_ANNOUNCEMENT
// endless: -DMOVERS=2 -DMOVES=1 -DSEARCHES=0 -DNO_HELP
#define SUPERBLOCKS 2
#define SLOTS 3
#define NONE 2    // in the place of a superblock
#define NOWHERE 3 // in the place of a slot

// Slots: what is there, and the version.
byte there[SLOTS] = { 0, 1, NONE };
byte version[SLOTS] = { 1, 1, 0 };

// mv_info of each superblock: changed as one.
byte from[SUPERBLOCKS] = { 0, 1 };
byte from_version[SUPERBLOCKS] = { 1, 1 };
byte to[SUPERBLOCKS] = { NOWHERE, NOWHERE };
byte to_version[SUPERBLOCKS];

// `current` of each set: the flag, and the version.
bool is_empty[SLOTS] = { false, false, true };
byte changes[SLOTS];

#define settled(S) (to[S] == NOWHERE)
#define has(L, S, v) (there[L] == (S) && version[L] == (v))
#define is_nowhere_but(S, L, M) \
    ((there[0] != (S) || L == 0 || M == 0) && (there[1] != (S) || L == 1 || M == 1) && \
     (there[2] != (S) || L == 2 || M == 2))
#define holds_for(S) \
    ((settled(S) && has(from[S], S, from_version[S]) && is_nowhere_but(S, from[S], from[S]) && !is_empty[from[S]]) || \
     (!settled(S) && (has(from[S], S, from_version[S]) || has(to[S], S, to_version[S] + 1)) && \
      is_nowhere_but(S, from[S], to[S])))
#define invariant (holds_for(0) && holds_for(1))

// Of `who`, from (a, av, b, bv) to (c, cv, d, dv).
inline exchange_move(who, a, av, b, bv, c, cv, d, dv, won) {
    d_step {
        won = from[who] == a && from_version[who] == av && to[who] == b && to_version[who] == bv;
        if
        :: won -> from[who] = c; from_version[who] = cv; to[who] = d; to_version[who] = dv
        :: else
        fi;
        assert(invariant)
    }
}

inline announce(L) {
    d_step { is_empty[L] = false; changes[L]++; assert(invariant) }
}

// Of the move (F, f, T, t) of S, which was registered and may be over.
inline help(S, F, f, T, t) {
#ifdef PAPERS_HELP // H2 reads the version of `to` when it helps
    d_step { t_now = (there[T] == S -> version[T] - 1 : version[T]) }
#else
    t_now = t;
#endif
    d_step { // step 2
        if
        :: has(T, NONE, t_now) -> there[T] = S; version[T]++
        :: else
        fi;
        done = has(T, S, t_now + 1);
        assert(invariant)
    }
    if
    :: !done -> exchange_move(S, F, f, T, t, F, f, NOWHERE, 0, done) // step 4'
    :: else ->
#ifndef LATE_ANNOUNCEMENT
        announce(T); // step 2'
#endif
        d_step { // step 3
            if
            :: has(F, S, f) -> there[F] = NONE; version[F]++
            :: else
            fi;
            assert(invariant)
        }
        exchange_move(S, F, f, T, t, T, t_now + 1, NOWHERE, 0, done) // step 4
    fi
}

active [MOVERS] proctype mover() {
    byte moves, S, F, T, t; // what it wants
    byte now_F, now_f, now_T, now_t, t_now; // what it has read
    bool done;

    do
    :: moves == MOVES -> break
    :: else ->
        if // finds a superblock
        :: d_step { there[0] != NONE -> F = 0; S = there[0] }
        :: d_step { there[1] != NONE -> F = 1; S = there[1] }
        :: d_step { there[2] != NONE -> F = 2; S = there[2] }
        fi;
        if // and where it could go
        :: d_step { there[0] == NONE -> T = 0; t = version[0] }
        :: d_step { there[1] == NONE -> T = 1; t = version[1] }
        :: d_step { there[2] == NONE -> T = 2; t = version[2] }
        :: d_step { there[0] != NONE && there[1] != NONE && there[2] != NONE -> T = NOWHERE }
        fi;
        do
        :: T == NOWHERE -> break
#ifndef TO_ITSELF
        :: T == F -> break // it came back there
        :: T != NOWHERE && T != F ->
#else
        :: T != NOWHERE ->
#endif
            d_step { now_F = from[S]; now_f = from_version[S]; now_T = to[S]; now_t = to_version[S] }
            if
            :: now_T != NOWHERE -> // it is under way: first this
#ifndef NO_HELP
                help(S, now_F, now_f, now_T, now_t)
#else
                skip
#endif
            :: now_T == NOWHERE && now_F != F -> break // moved by another
            :: now_T == NOWHERE && now_F == F ->
                exchange_move(S, F, now_f, NOWHERE, now_t, F, now_f, T, t, done); // step 1
                if
                :: done ->
                    help(S, F, now_f, T, t);
#ifdef LATE_ANNOUNCEMENT // by the initiator, after the move
                    announce(T);
#endif
                    break
                :: else
                fi
            fi
        od;
        moves++;
        d_step { S = 0; F = 0; T = 0; t = 0; now_F = 0; now_f = 0; now_T = 0; now_t = 0; t_now = 0; done = false }
    od
}

active [SEARCHES] proctype search() {
    byte L, seen;

    if
    :: d_step { !is_empty[0] -> L = 0; seen = changes[0] }
    :: d_step { !is_empty[1] -> L = 1; seen = changes[1] }
    :: d_step { !is_empty[2] -> L = 2; seen = changes[2] }
    fi;
    if
    :: there[L] == NONE ->
        d_step {
            if
            :: changes[L] == seen -> is_empty[L] = true; changes[L]++
            :: else
            fi;
            assert(invariant)
        }
    :: there[L] != NONE
    fi
}
