// SPDX-License-Identifier: MIT
//
// Mixed piece: a run that is cut out of adjacent free runs of both kinds, dirty and clean.
//
// Adds:    the search for the piece with the most dirty slots around a given dirty run.
// Needs:   free runs in a segment whose boundary tags are up to date (RunLists).
// Threads: the caller holds the lock of the stripe.
// Cost:    reads the kind of each slot around the run: the run and twice the requested length at most.
// Source:  docs/decisions/mixed-runs.md
#pragma once

#include <cairn/run/segment.hpp>

namespace cairn {

struct MixedPiece {
    unsigned first = 0; ///< number of the first slot
    unsigned dirty = 0; ///< number of dirty slots; 0: no piece was found

    static bool is_free(SlotKind kind) {
        return kind == SlotKind::free_clean || kind == SlotKind::free_dirty;
    }

    /// The piece of `slots`, at a multiple of `alignment`, with the most dirty slots, out of the free run [begin, end)
    /// and the free runs around it.
    static MixedPiece around(const Segment &segment, unsigned begin, unsigned end, unsigned slots,
                             unsigned alignment) {
        const unsigned least = begin > slots ? begin - slots : 0;
        while (begin > least && is_free(segment.kind(begin - 1))) {
            begin -= segment.owner_lines[begin - 1].slots; // the boundary tag of the previous run
        }
        for (const unsigned most = end + slots;
             end < most && end < segment.mapped_slots && is_free(segment.kind(end));) {
            end += segment.owner_lines[end].slots;
        }
        MixedPiece best;
        unsigned dirty = 0; // number of dirty slots in [first, behind)
        unsigned behind = begin;
        for (unsigned first = begin; first + slots <= end; ++first) {
            for (; behind < first + slots; ++behind) {
                dirty += segment.kind(behind) == SlotKind::free_dirty;
            }
            if (dirty > best.dirty && first % alignment == 0) {
                best = {first, dirty};
            }
            dirty -= segment.kind(first) == SlotKind::free_dirty;
        }
        return best;
    }
};

} // namespace cairn
