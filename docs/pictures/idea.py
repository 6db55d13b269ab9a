#!/usr/bin/env python3
"""Draws docs/pictures/idea.svg: steps with a barrier, against rounds that start at an arrival. Schematic, not measured.

Usage: docs/pictures/idea.py > docs/pictures/idea.svg
"""
import random

RANKS, STEPS, LONG, WIDTH = 8, 4, 40, 900
LEFT, ROW, BAR, SCALE = 70, 20, 13, 2.35
STYLE = '''svg{background:#fff;font-family:system-ui,sans-serif}
.work{fill:#4b86c2}.wait{fill:#d9d9d9}.late{fill:#e08a2e}.line{stroke:#b03030;stroke-width:2}.round{stroke:#3f8f4f;stroke-width:2}
.t{font-size:15px;fill:#222}.s{font-size:12px;fill:#555}.carry{stroke:#ffb347;stroke-width:2.5;stroke-dasharray:3 3}
@media (prefers-color-scheme:dark){svg{background:#1b1b1b}.t{fill:#eee}.s{fill:#bbb}.wait{fill:#444}.work{fill:#5b9bd9}
.line{stroke:#e06060}.round{stroke:#6cc07c}.carry{stroke:#ffd9a0}}'''


def bar(kind, begin, end, y):
    return f'<rect class="{kind}" x="{LEFT + begin * SCALE:.1f}" y="{y}" width="{max(0, end - begin - 1) * SCALE:.1f}" height="{BAR}" rx="2"/>'


def text(kind, x, y, words):
    return f'<text class="{kind}" x="{x}" y="{y}">{words}</text>'


def line(kind, at, top, bottom):
    return f'<line class="{kind}" x1="{LEFT + at * SCALE:.1f}" y1="{top}" x2="{LEFT + at * SCALE:.1f}" y2="{bottom}"/>'


def barrier(steps, top):
    """Every step lasts as long as its slowest rank."""
    parts, now, bottom = [], 0, top + RANKS * ROW
    for step in range(STEPS):
        end = now + max(steps[rank][step] for rank in range(RANKS))
        for rank in range(RANKS):
            y = top + rank * ROW
            parts += [bar('work', now, now + steps[rank][step], y), bar('wait', now + steps[rank][step], end, y)]
        parts.append(line('line', end, top - 4, bottom))
        now = end
    return parts, now


def rounds(steps, top):
    """A round starts when half of the ranks have a deposit; a rank that missed one goes on at once."""
    parts, carried, bottom = [], [], top + RANKS * ROW
    done, seen, free, deposits, waiting, started = [0] * RANKS, [0] * RANKS, [0] * RANKS, {}, {}, []
    while min(done) < STEPS or deposits:
        computing = [(free[rank] + steps[rank][done[rank]], rank) for rank in range(RANKS)
                     if rank not in waiting and done[rank] < STEPS]
        if computing:
            now, rank = min(computing)
            late = len(started) > seen[rank]
            long = late and now - free[rank] > LONG
            parts.append(bar('late' if long else 'work', free[rank], now, top + rank * ROW))
            done[rank], free[rank] = done[rank] + 1, now
            deposits.setdefault(rank, (now, long))
            if late:
                seen[rank] = len(started)
            else:
                waiting[rank] = now
        if waiting and len(deposits) >= RANKS // 2 or not computing:
            started.append(now)
            for rank, since in waiting.items():
                parts.append(bar('wait', since, now, top + rank * ROW))
                free[rank], seen[rank] = now, len(started)
            for rank, (since, long) in deposits.items():
                y = top + rank * ROW + BAR / 2
                if long:
                    carried.append(f'<line class="carry" x1="{LEFT + since * SCALE:.1f}" y1="{y}" '
                                   f'x2="{LEFT + now * SCALE:.1f}" y2="{y}"/>')
            deposits, waiting = {}, {}
    parts += [line('round', start, top - 4, bottom) for start in started]
    return parts + carried


def main():
    draw = random.Random(3)
    steps = [[draw.randint(22, 34) for _ in range(STEPS)] for _ in range(RANKS)]
    for rank, step in ((2, 0), (6, 1), (0, 2), (4, 3)):
        steps[rank][step] = 78
    above, first = barrier(steps, 56)
    below = rounds(steps, 290)
    parts = [text('t', LEFT, 24, 'A barrier after every step: every rank waits for the slowest'),
             text('s', LEFT, 42, 'blue: a rank computes; gray: it waits; red: the step ends'), *above,
             text('t', LEFT, 258, 'Rounds that start at an arrival, here the fourth: late work is carried into the next'),
             text('s', LEFT, 276, 'green: a round starts with what is there; orange: a long step that misses rounds, dashed until the next takes its gradient'), *below]
    parts += [text('s', 12, top + rank * ROW + 11, f'rank {rank}') for top in (56, 290) for rank in range(RANKS)]
    parts.append(text('s', LEFT, 478, f'Schematic, not measured. The same {RANKS} ranks, each with the same {STEPS} steps, in both halves; time runs to the right.'))
    parts += [line('line', first, 52, 56 + RANKS * ROW)]
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 490" role="img" aria-labelledby="title">')
    print(f'<title id="title">Eight ranks with a barrier after every step, and with rounds that start at an arrival</title>\n<style>\n{STYLE}\n</style>')
    print('\n'.join(parts) + '\n</svg>')


if __name__ == '__main__':
    main()
