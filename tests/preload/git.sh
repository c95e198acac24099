#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# git: init, many commits, branches, a merge, gc with two packing threads, clone, log, blame, grep, bundle, fsck. Names and
# dates are fixed, so every object's name is compared. Packs are not compared: which deltas two threads find varies.
. "$(dirname "$0")/lib/common.sh"
need git git
own_sources

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat GIT_TERMINAL_PROMPT=0
export GIT_AUTHOR_NAME=Author GIT_AUTHOR_EMAIL=author@example.org
export GIT_COMMITTER_NAME=Committer GIT_COMMITTER_EMAIL=committer@example.org

work() {
    local i
    git init -q -b main tree
    cd tree
    mkdir -p include
    cp -r "$sources"/include/cairn include/
    cp -r "$inputs"/* .
    for i in {1..40}; do
        seq "$i" 7 3000 >"list.$((i % 9))"
        sed -i "$((i % 50 + 1))s/\$/ # change $i/" script.bash work.py
        git add -A
        GIT_AUTHOR_DATE="$((1700000000 + i)) +0000" GIT_COMMITTER_DATE="$((1700000000 + i)) +0000" \
            git commit -q -m "Change $i"
    done
    export GIT_AUTHOR_DATE="1700001000 +0000" GIT_COMMITTER_DATE="1700001000 +0000"
    git checkout -q -b side main~10
    echo "only here" >side-file
    git add side-file
    git commit -q -m "A file on the side"
    git checkout -q main
    git merge -q --no-ff -m "Merge the side" side
    git tag -a -m "A tag" v1

    git -c pack.threads=2 gc -q --prune=now --aggressive
    git fsck --full --strict
    git log --graph --stat --pretty=fuller | tee ../keep/log | tail -n 5
    git log -p --find-copies-harder -M -C >../keep/patches
    git blame --line-porcelain script.bash >../keep/blame
    git grep -n --threads=4 -e return HEAD~3 HEAD -- >../keep/grep
    git cat-file --batch-all-objects --batch-check >../keep/objects

    git clone -q --no-hardlinks . ../clone
    git bundle create -q ../bundle main v1
    git clone -q -b main ../bundle ../unbundled
    git -C ../clone rev-parse HEAD HEAD^{tree} v1 2>/dev/null || true
    git -C ../unbundled rev-parse HEAD HEAD^{tree}
    git -C ../clone status --short
    git repack -q -a -d -f --window=50 --threads=2
    git archive HEAD | cksum
    git -C ../clone archive HEAD | cksum
}

compare work
loaded git
