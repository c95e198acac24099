#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# java: javac compiles a program, java runs it with two collectors; threads, direct buffers and zlib allocate natively.
# The class files are compared byte for byte, and so is what the program prints.
. "$(dirname "$0")/lib/common.sh"
need javac default-jdk-headless
need java default-jdk-headless

work() {
    javac -J-Xmx256m -d keep "$inputs/Work.java"
    java -Xmx256m -XX:+UseG1GC -XX:MaxDirectMemorySize=128m -cp keep Work
    java -Xmx256m -XX:+UseParallelGC -XX:TieredStopAtLevel=1 -cp keep Work
}

compare work
loaded javac java sort
