#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vips: pipelines of small tiles, each allocated, filled and freed by a pool of threads. Pictures are compared as
# plain pixels, without the comment that holds the date.
. "$(dirname "$0")/lib/common.sh"
need vips libvips-tools

work() {
    export VIPS_CONCURRENCY=4
    # vips's own noise takes no seed everywhere.
    awk 'BEGIN {
        print "P2 700 600 255"
        for (i = 0; i < 420000; i++) { seed = (seed * 16807 + 12345) % 2147483647; print int(seed / 8388608) }
    }' >noise.pgm
    vips copy noise.pgm noise8.v
    vips gaussblur noise8.v blurred.v 3
    vips resize blurred.v "keep/resized.ppm[strip]" 0.61
    vips similarity blurred.v rotated.v --angle 33
    vips cast rotated.v "keep/rotated.pgm[strip]" uchar
    vips rank noise8.v "keep/median.pgm[strip]" 5 5 12
    vips hist_equal blurred.v equal.v
    vips canny equal.v edges.v
    vips cast edges.v "keep/edges.pgm[strip]" uchar
    vips pngsave equal.v equal.png --compression 3
    vips thumbnail equal.png "keep/thumbnail.pgm[strip]" 300
    vips fwfft blurred.v spectrum.v
    vips abs spectrum.v amplitude.v
    vips avg amplitude.v
    vips stats blurred.v statistics.v
    vips getpoint statistics.v 4 0
    vips copy keep/resized.ppm copy.tif[tile,pyramid,compression=deflate]
    vips copy copy.tif[page=1] "keep/half.pgm[strip]"
    vipsheader -a keep/half.pgm | grep -E '^(width|height|bands|format)'
}

compare work
loaded vips
