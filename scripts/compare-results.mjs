#!/usr/bin/env node
// Compares two result folders of the lab, figure by figure: `scripts/compare-results.mjs BEFORE AFTER`. Every figure of a plan in virtual time
// must be equal to the last digit; figures that depend on the machine are left out. It exits with 1 if anything differs.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [before, after, ...rest] = process.argv.slice(2);
if (!before || !after || rest.length > 0) {
  console.error('usage: scripts/compare-results.mjs BEFORE AFTER (two folders written by `samestep lab report --out` or `lab run --out`)');
  process.exit(2);
}

/** All results below a folder: path → (case, metric and column → figure). */
function figures(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.json'));
  return new Map(files.sort().map((file) => {
    const { seed, rows = [] } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    const cells = rows.filter((row) => !row.wall_clock).flatMap((row) =>
      ['published', 'theirs', 'ours'].map((column) => [`${row.case} · ${row.metric} · ${column}`, row[column]]));
    return [file, new Map([['seed', seed], ...cells])];
  }).filter(([, cells]) => cells.size > 1));
}

const [old, now] = [figures(before), figures(after)];
let compared = 0;
let differing = 0;
for (const file of new Set([...old.keys(), ...now.keys()])) {
  const [a, b] = [old.get(file) ?? new Map(), now.get(file) ?? new Map()];
  for (const name of new Set([...a.keys(), ...b.keys()])) {
    compared += 1;
    if (a.get(name) === b.get(name)) continue;
    differing += 1;
    console.log(`${file}: ${name}: ${a.get(name) ?? 'absent'} → ${b.get(name) ?? 'absent'}`);
  }
}
if (compared === 0) {
  console.error(`no results of the lab in ${before} and ${after}`);
  process.exit(2);
}
console.log(`${compared} figures compared, ${differing} differ`);
process.exit(differing === 0 ? 0 : 1);
