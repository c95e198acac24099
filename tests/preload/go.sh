#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# go: builds a module with cgo, whose goroutines call malloc and free from many threads, and runs it. The compiler is a
# static program and cannot be preloaded: what can is the C compiler that it starts, and the built program. The standard
# library is compiled beforehand into a cache that both runs start from (newer releases come without it compiled). The
# programs are compared byte for byte.
. "$(dirname "$0")/lib/common.sh"
need go golang-go
need gcc gcc
if [ -x /usr/bin/go ]; then
    PATH=/usr/bin:$PATH # Debian's, which has its standard library compiled
fi

export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOTELEMETRY=off CGO_ENABLED=1 GOENV=off
GOPATH=$scratch/gopath
GOCACHE=$scratch/warm
export GOPATH GOCACHE CC=gcc
mkdir "$scratch/first"
cd "$scratch/first"
# Everything that the module imports, but not the module: the runs compile that themselves, with its C.
cat >main.go <<'END'
package main

import "C"

import (
	_ "os"
	_ "strconv"
	_ "sync"
)

func main() {}
END
go build -o first main.go

work() {
    cp -r "$scratch/warm" cache
    cp -r "$inputs/go" module
    export GOCACHE=$PWD/cache
    cd module
    go build -ldflags=-linkmode=external -o ../keep/program .
    ../keep/program
    GOMAXPROCS=8 GODEBUG=cgocheck=1 ../keep/program
}

compare work
loaded gcc cc1 program
