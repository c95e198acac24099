<?php
// SPDX-License-Identifier: MIT
// Work for php: strings, arrays, generators, regular expressions, json, an archive, sockets, a child process; extensions are libraries
// that it loads.
mt_srand(3);
$table = [];
for ($i = 0; $i < 100000; $i++) {
    $key = 'key' . mt_rand(0, 9000);
    $table[$key][] = str_repeat(chr(97 + $i % 26), mt_rand(1, 300));
    if (count($table[$key]) > 6) {
        $table[$key] = [];
    }
}
ksort($table);
$text = json_encode($table);
echo 'json ', strlen($text), ' ', md5($text), ' ', md5(serialize(json_decode($text, true))), "\n";

echo 'words ', count(preg_split('/[aeiou]+/', $text)), ' ', md5(preg_replace_callback('/k(ey)\d/', fn($m) => strrev($m[1]), $text)), "\n";
echo 'iconv ', md5(iconv('UTF-8', 'UTF-16LE', $text)), ' ', md5(gzcompress($text, 1)), "\n";

function pieces(string $of, int $length) {
    for ($at = 0; $at < strlen($of); $at += $length) {
        yield substr($of, $at, $length);
    }
}
$lengths = new SplFixedArray(1000);
foreach (pieces($text, 777) as $n => $piece) {
    $lengths[$n % 1000] += crc32($piece) % 1000;
}
echo 'pieces ', array_sum($lengths->toArray()), "\n";

$archive = new PharData('work.tar');
foreach (pieces(substr($text, 0, 400000), 9000) as $n => $piece) {
    $archive->addFromString("part$n", $piece);
}
$read = '';
for ($n = 0; isset($archive["part$n"]); $n++) {
    $read .= $archive["part$n"]->getContent();
}
echo 'archive ', $n, ' ', md5($read), "\n";

socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $ends);
$child = pcntl_fork();
if ($child == 0) {
    while (($line = socket_read($ends[1], 1000)) !== '' && $line !== false) {
        socket_write($ends[1], md5($line) . "\n");
        if ($line === 'last') {
            break;
        }
    }
    exit(0);
}
foreach (['first', str_repeat('x', 900), 'last'] as $message) {
    socket_write($ends[0], $message);
    echo 'child ', socket_read($ends[0], 100);
}
pcntl_waitpid($child, $status);
echo 'status ', pcntl_wexitstatus($status), ' ', shell_exec('echo from a shell'), count(get_loaded_extensions()) > 20 ? "extensions\n" : "few extensions\n";
