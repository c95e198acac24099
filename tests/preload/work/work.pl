# SPDX-License-Identifier: MIT
# Work for perl: hashes, regular expressions, sorting, closures, threads, fork, deep structures.
use strict;
use warnings;
use threads;
use threads::shared;
use Thread::Queue;
use Data::Dumper;
use Storable qw(freeze thaw dclone);
use List::Util qw(sum shuffle);
use Digest::SHA qw(sha256_hex);

$Data::Dumper::Sortkeys = 1;
$Data::Dumper::Indent = 1;

my $seed = 12345;
sub next_number { $seed = ($seed * 1103515245 + 12345) % 2147483648; return $seed; }

my %index;
for my $i (1 .. 60000) {
    my $key = sprintf('%x', next_number() % 5000);
    push @{ $index{$key} }, $i;
    delete $index{ sprintf('%x', next_number() % 5000) } if $i % 3 == 0;
}
print scalar(keys %index), ' ', sum(map { scalar @$_ } values %index), "\n";
print sha256_hex(join ',', map { "$_=@{$index{$_}}" } sort keys %index), "\n";

my $text = join ' ', map { 'w' . (next_number() % 700) . ('x' x ($_ % 40)) } 1 .. 20000;
my %words;
$words{$1}++ while $text =~ /\b(w\d+x{3,17})\b/g;
(my $changed = $text) =~ s/(\d+)(x*)/length($2) . "-" . reverse($1)/ge;
print scalar(keys %words), ' ', length($changed), ' ', sha256_hex($changed), "\n";

my @closures = map { my $n = $_; sub { return $n * shift() + length("$n" x $n) } } 1 .. 300;
print sum(map { $_->(7) } @closures), "\n";

my $deep = { name => 'root' };
my $at = $deep;
$at = $at->{child} = { name => "n$_", list => [ 1 .. $_ % 9 ] } for 1 .. 250;
my $copy = thaw(freeze(dclone($deep)));
print sha256_hex(Dumper($copy)), "\n";

# Threads: each clones the interpreter, so this allocates in one thread what another one frees.
my $queue = Thread::Queue->new;
my $total : shared = 0;
my @threads = map {
    my $number = $_;
    threads->create(sub {
        my $sum = 0;
        while (defined(my $item = $queue->dequeue)) {
            my %local = map { $_ => "$item-$_" } 1 .. 200;
            $sum += length join '', values %local;
        }
        { lock $total; $total += $sum; }
        return $number;
    });
} 1 .. 4;
$queue->enqueue($_) for 1 .. 300;
$queue->end;
print join(' ', map { $_->join } @threads), " $total\n";

# Children of a process whose heap is already large.
for my $child (1 .. 4) {
    my $pid = open(my $pipe, '-|') // die "fork: $!";
    if ($pid == 0) {
        my @list = sort { $a <=> $b } map { ($_ * 7919) % 10007 } 1 .. 5000;
        print "child $child: ", sha256_hex("@list"), "\n";
        exit 0;
    }
    print while <$pipe>;
    close($pipe) or die "child $child: $?";
}
