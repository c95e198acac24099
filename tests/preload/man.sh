#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# man: renders a page of its own making, with tables, and this project's pages by way of groff. The rendered text is
# compared. man puts groff behind a filter of system calls that kills whoever makes another one; as the loader cannot write
# its trace there, one rendering is done without the filter and traced, the others with it and not traced.
. "$(dirname "$0")/lib/common.sh"
need man man-db
own_sources

work() {
    export MANPAGER=cat PAGER=cat MANWIDTH=100 MANROFFOPT=-Wall GROFF_NO_SGR=1
    {
        echo "'\\\" t"
        echo '.TH HEAP 7 2024-01-01 Cairn "A page for a test"'
        for section in {1..12}; do
            echo ".SH SECTION $section"
            for i in {1..40}; do
                echo "Words of paragraph $i, with \\fBbold\\fR and \\fIitalic\\fR, a dash \\(em and a bullet \\(bu."
                [ $((i % 8)) -ne 0 ] || printf '.TP\n.B term%d\nIts meaning, in some more words than fit on a line of this width.\n' "$i"
            done
            printf '.TS\nbox, tab(:);\nlb lb lb\nl n r.\nClass:Size:Blocks\n_\n'
            for i in {1..10}; do
                echo "class $i:$((i * 16)).5:$((65536 / (i * 16)))"
            done
            echo .TE
        done
    } >heap.7
    MAN_DISABLE_SECCOMP=1 man -l heap.7 >keep/heap.txt
    head -n 40 keep/heap.txt
    unset LD_DEBUG LD_DEBUG_OUTPUT
    man -l heap.7 >filtered
    cmp filtered keep/heap.txt
    man -l -Tascii heap.7 | cksum
    gzip -k heap.7
    man -l heap.7.gz | cksum
    local page
    for page in "$sources"/man/*.[1-8]; do
        man -l "$page" >"keep/$(basename "$page").txt"
    done
}

compare work
loaded man groff troff
