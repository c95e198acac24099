# SPDX-License-Identifier: MIT
# Work for bash itself: strings, arrays, maps, expansions, sub-shells, pipes, here-documents, traps.

declare -A count
declare -a words order
text="the quick brown fox jumps over the lazy dog while seventeen zebras play quiet jazz"

for ((round = 0; round < 600; round++)); do
    words=($text "$round" "word$((round % 97))")
    for word in "${words[@]}"; do
        count[$word]=$((${count[$word]:-0} + ${#word}))
    done
    order+=("${words[round % ${#words[@]}]}-$round")
done
for word in "${!count[@]}"; do
    printf '%s=%d\n' "$word" "${count[$word]}"
done | sort

# A string that grows and is cut, replaced and re-cased.
grown=
for ((i = 0; i < 3000; i++)); do
    grown+="${order[i % ${#order[@]}]}:"
    if ((${#grown} > 20000)); then
        grown=${grown: -5000}
        grown=${grown//o/0}
        grown=${grown^^}
    fi
done
printf '%s' "$grown" | cksum

# Functions that recurse and return through command substitution.
fib() {
    local n=$1
    if ((n < 2)); then
        echo "$n"
    else
        echo $(($(fib $((n - 1))) + $(fib $((n - 2)))))
    fi
}
fib 10

# Pattern matching, process substitution, read loops, here-documents, here-strings.
while IFS=- read -r name number; do
    [[ $name =~ ^([a-z]+)([0-9]*)$ ]] && echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]:-none} $number"
done < <(printf '%s\n' "${order[@]}") | cksum
cat <<DOCUMENT | tr a-z A-Z
$(for i in {1..20}; do echo "line $i of ${#order[@]}"; done)
DOCUMENT
mapfile -t lines <<<"$(printf '%s\n' {a..z}{a..z})"
echo "${#lines[@]} ${lines[*]:100:10}"

# Children in the background, each with an answer of its own, and a trap in each sub-shell.
for i in {1..12}; do
    (
        trap 'echo "child $i ends" >"child.$i"' EXIT
        eval "value_$i=\$((i * i))"
        : "$(printf '%*s' 5000 x)"
    ) &
done
wait
cat child.{1..12}
shopt -s extglob nullglob
echo child.+([0-9]) | wc -w
unset count words order lines
