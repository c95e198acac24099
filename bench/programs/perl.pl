# SPDX-License-Identifier: MIT
# Hashes of arrays, strings that grow, regular expressions, sorting: what perl scripts do.
use strict;
use warnings;

my $scale = @ARGV ? $ARGV[0] : 100;
my $turns = int(6 * $scale / 100) || 1;
my $sum   = 0;

for my $turn (1 .. $turns) {
    my %index;
    for my $i (1 .. 20000) {
        my $line = join ' ', map { "w" . ($i * $_ * 7919 % 5003) } 1 .. 5;
        while ($line =~ /(w\d+)/g) {
            push @{ $index{$1} }, $i;
        }
    }
    my @order = sort { @{ $index{$b} } <=> @{ $index{$a} } || $a cmp $b } keys %index;
    my $report = '';
    for my $word (@order) {
        $report .= sprintf "%s:%s\n", $word, join ',', grep { $_ % 2 } @{ $index{$word} };
    }
    $report =~ s/,(\d)/;$1/g;
    my @fields = split /[;\n]/, $report;
    $sum = ($sum * 31 + length($report) + @fields) % 1000003;
}
print "perl: $sum\n";
