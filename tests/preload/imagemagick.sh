#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ImageMagick: draws, resizes, blurs, distorts, quantises and converts pictures, with two OpenMP threads. The pictures are
# compared as plain pixels, so no date of a file format is in them.
. "$(dirname "$0")/lib/common.sh"

# By the names that Debian's packages give: `convert` alone may be any program.
for magick in convert-im6.q16 convert-im7.q16 magick; do
    ! command -v "$magick" >/dev/null || break
done
need "$magick" imagemagick
export magick MAGICK_THREAD_LIMIT=2 OMP_NUM_THREADS=2 MAGICK_CONFIGURE_PATH=

work() {
    "$magick" -seed 7 -size 500x400 plasma:red-blue -blur 0x3 ppm:plasma.ppm
    "$magick" plasma.ppm -resize 733x -unsharp 0x2 -rotate 17 ppm:keep/rotated.ppm
    "$magick" plasma.ppm -colors 64 -dither FloydSteinberg png:palette.png
    "$magick" palette.png -distort Barrel '0.2 0.0 0.0 0.9' -median 3 ppm:keep/distorted.ppm
    "$magick" plasma.ppm -quality 80 jpeg:plasma.jpg
    "$magick" plasma.jpg -edge 2 -normalize -morphology Dilate Octagon:2 ppm:keep/edges.ppm
    "$magick" -size 300x200 xc:white -fill navy -stroke orange -draw 'circle 150,100 150,30 path "M 10,10 C 90,190 200,10 290,190"' \
        -wave 8x60 \( +clone -flop \) +append ppm:keep/drawn.ppm
    for i in {1..12}; do
        "$magick" plasma.ppm -crop "$((i * 20))x90+$i+$i" +repage -modulate "$((i * 15))" ppm:"part$i.ppm"
    done
    "$magick" part{1..12}.ppm -append ppm:keep/parts.ppm
    "$magick" plasma.ppm -fft -delete 1 ppm:- | cksum || true
    cksum keep/*.ppm
}

compare work
loaded "$magick"
