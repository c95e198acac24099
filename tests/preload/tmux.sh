#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tmux: a server of its own, sessions, split panes, keys typed into a shell, a long scroll-back, a capture of the screen.
. "$(dirname "$0")/lib/common.sh"
need tmux tmux

mux() {
    tmux -S "$PWD/socket" -f /dev/null "$@"
}

# shows PANE LINE
shows() {
    mux capture-pane -p -t "$1" | grep -x -e "$2" >/dev/null
}

work() {
    unset TMUX TMUX_PANE
    export SHELL=/bin/bash TERM=screen
    # Every window gets a name: tmux would give it that of its program, which is "tmux" until the shell is started.
    mux new-session -d -s one -n shell -x 100 -y 30 "bash --norc --noprofile"
    mux set-option -g history-limit 5000
    mux new-window -d -t one -n other "bash --norc --noprofile"
    # What is typed before a shell is ready would be on the screen twice.
    until_true shows one:0 'bash.*[$#]'
    mux send-keys -t one:0 "PS1='> '; clear" Enter
    until_true shows one:0 '>'
    mux send-keys -t one:0 'for i in {1..400}; do printf "\033[3%dmline %d\033[0m %s\n" $((i % 8)) $i "é€𝄞 ${i}"; done; echo done' \
        'typed' BSpace BSpace BSpace BSpace BSpace ' | tail -n 300; tmux -S socket wait-for -S ready' Enter
    mux wait-for ready
    mux split-window -h -t one:0 "seq 1 2000 | sed 's/\$/ in the other pane/'; tmux -S socket wait-for -S half; exec sleep 600"
    mux wait-for half
    mux resize-pane -t one:0.0 -x 30
    mux resize-pane -t one:0.0 -x 60
    for i in {1..15}; do
        mux new-window -d -t one -n "window$i" "sleep 600"
        mux set-buffer -b "buffer$i" "$(seq 1 "$((i * 100))")"
    done
    mux swap-window -s one:3 -t one:7
    mux kill-window -t one:5
    # What a program has written, tmux may not have read.
    until_true shows one:0.0 '>'
    until_true shows one:0.1 '2000 in the other pane'
    mux capture-pane -p -e -t one:0.0 | sed '/^$/d'
    mux capture-pane -p -S - -t one:0.1 | sed '/^$/d' | cksum
    mux list-windows -t one -F '#{window_index} #{window_name} #{window_panes} #{window_layout}'
    mux list-buffers -F '#{buffer_name} #{buffer_size}'
    mux show-buffer -b buffer9 | cksum
    mux kill-server
}

compare work
loaded tmux bash seq
