# 300 subshells, pipes, arrays, traps.
trap 'echo left' EXIT
total=0
for i in $(seq 300); do
  value=$(echo $((i * i % 97)))
  total=$((total + value))
done
echo "$total"
declare -A seen
for i in $(seq 2000); do seen[k$((i % 300))]+=x$i; done
echo "${#seen[@]} ${#seen[k7]}"
(trap 'echo caught' TERM; kill -TERM "$BASHPID")
seq 20000 | sort -rn | awk '{ sum += $1 * NR } END { print sum }'
while read -r word; do echo "$word"; done < <(seq 5) | tac
exit 4
