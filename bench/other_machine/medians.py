"""Medians over rounds of the tables that bench/threads.py prints."""
import collections, statistics, sys
rows = collections.defaultdict(list)
for line in sys.stdin:
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    if len(cells) != 8 or not cells[0].isdigit() or cells[1].startswith("**"):
        continue
    rows[int(cells[0]), cells[1]].append([float(cells[i]) for i in (2, 3, 5, 6)])
ours = {}
print("| threads | model | rounds | ours ms | ORT ms | ratio | ours MB | ORT MB | ratio |\n|---|---|---|---|---|---|---|---|---|")
for threads in sorted({key[0] for key in rows}):
    ratios, memory = [], []
    for (count, model), values in sorted(rows.items()):
        if count != threads:
            continue
        a, b, c, d = (statistics.median(side) for side in zip(*values))
        ratios.append(a / b); memory.append(c / d); ours[threads, model] = (a, b)
        print(f"| {threads} | {model} | {len(values)} | {a:.2f} | {b:.2f} | {a / b:.2f} | {c:.1f} | {d:.1f} | {c / d:.2f} |")
    print(f"| {threads} | **mean, largest** | | | | **{statistics.mean(ratios):.3f}, {max(ratios):.2f}** | | | **{statistics.mean(memory):.3f}** |")
print("\n| model | speed-up from 1 to 16 threads: ours | ORT |\n|---|---|---|")
for (threads, model), (a, b) in sorted(ours.items()):
    if threads == 16 and (1, model) in ours:
        one = ours[1, model]
        print(f"| {model} | {one[0] / a:.2f} | {one[1] / b:.2f} |")
