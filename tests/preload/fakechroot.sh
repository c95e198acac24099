#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fakechroot: programs inside a folder that a preloaded library shows them as the root, with fakeroot's preloaded before it.
# Files get owners, an archive and a device that only root could make.
. "$(dirname "$0")/lib/common.sh"
need fakechroot fakechroot
need fakeroot fakeroot

work() {
    local program
    mkdir -p root/bin root/etc root/tmp
    for program in bash cat chown ls mkdir mknod perl stat tar; do
        cp "$(command -v $program)" root/bin
    done
    seq 1 20000 >root/etc/numbers
    cat >root/etc/script <<'END'
cd /tmp
mkdir folder
for i in {1..50}; do echo "$i" >"folder/$i"; done
chown -R 12:34 folder
mknod null c 1 3
tar -cf archive.tar --sort=name folder null
tar -tvf archive.tar | while read -r mode owner size _ _ name; do echo "$mode $owner $size $name"; done
stat -c '%n %u:%g %F' folder/* null
perl -e 'my %n = map { $_ => "x" x ($_ % 50) } 1 .. 50000; print scalar(keys %n), "\n"; print `ls /`; print -e "/etc/numbers"'
END
    fakechroot chroot root /bin/ls /etc
    fakechroot chroot root /bin/cat /etc/numbers | cksum
    fakechroot fakeroot chroot root /bin/bash /etc/script
    ls root/tmp
}

compare work
loaded bash cat chown chroot ls mknod perl stat tar
