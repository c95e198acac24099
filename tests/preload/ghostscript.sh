#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ghostscript: renders a page at once and in bands by two threads, with and without transparency, makes a PDF of it and
# renders that. The pictures are compared byte for byte; the PDF is not (it holds the date).
. "$(dirname "$0")/lib/common.sh"
need gs ghostscript

work() {
    local common=(-q -dBATCH -dNOPAUSE -dSAFER --permit-file-read="$inputs/")
    gs "${common[@]}" -sDEVICE=png16m -r150 -o keep/page.png "$inputs/page.ps"
    gs "${common[@]}" -sDEVICE=ppmraw -r200 -dNumRenderingThreads=2 -dMaxBitmap=0 -dBufferSpace=1000000 \
        -o keep/bands.ppm "$inputs/page.ps"
    gs "${common[@]}" -sDEVICE=pdfwrite -o page.pdf "$inputs/page.ps"
    gs "${common[@]}" -sDEVICE=png16m -r150 -dTextAlphaBits=4 -dGraphicsAlphaBits=4 -o keep/smooth.png page.pdf
    gs "${common[@]}" -sDEVICE=txtwrite -o - page.pdf
    gs "${common[@]}" -sDEVICE=bbox -dNODISPLAY -c '1 1 400 { dup array pop string pop } for (vm ok) = quit'
    wc -c keep/*
}

compare work
loaded gs
