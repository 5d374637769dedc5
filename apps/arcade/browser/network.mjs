// The sliders, and what they do to the plots.

import assert from 'node:assert/strict';
import { means } from './driver.mjs';

/** What is plotted after the line has been like this for two seconds. */
async function settled(arcade) {
  return arcade.play(150);
}

const higher = (after, before, words) => after.forEach((value, player) => assert.ok(value > before[player], `${words}, player ${player + 1}: ${before[player]} to ${value}`));

export const tests = {
  async 'latency lengthens round trips'(bench) {
    const arcade = await bench.open('game=sublockus&model=snapshot&players=2&net=perfect');
    const before = means(await settled(arcade), 'round-trip');
    assert.ok(Math.max(...before) < 30, `${before} ms by a perfect line`);
    const latency = await arcade.drag('Latency', 0.4);
    assert.ok(latency > 80 && latency < 160, `${latency} ms`);
    const report = await settled(arcade);
    const after = means(report, 'round-trip', 10);
    after.forEach((trip) => assert.ok(trip > 1.9 * latency && trip < 2 * latency + 60, `${trip} ms with ${latency} ms each way`));
    assert.match(report.link, new RegExp(`latency=${latency}`));
    bench.note(`latency dragged to ${latency} ms: round trips ${before.map(Math.round)} to ${after.map(Math.round)} ms`);
  },

  async 'one player can have another line'(bench) {
    const arcade = await bench.open('game=sublockus&model=snapshot&players=3&net=lan');
    await settled(arcade);
    await arcade.click('Connection of player 2');
    const latency = await arcade.drag('Latency', 0.5);
    const report = await settled(arcade);
    const [one, two, three] = means(report, 'round-trip', 10);
    assert.ok(two > 1.9 * latency && one < 30 && three < 30, `${one}, ${two}, ${three} ms`);
    assert.match(report.link, new RegExp(`latency\\.2=${latency}`));
  },

  async 'jitter and loss delay what is shown, doubles and rate change the traffic'(bench) {
    const arcade = await bench.open();
    const cases = [
      ['Jitter', 0.5, 'ms', 'buffer-delay'],
      ['Duplicates', 1, '%', 'download'],
      ['Loss', 0.9, '%', 'buffer-delay'],
      ['Rate', 0.05, 'kbit/s', 'round-trip'],
    ];
    for (const [at, [slider, part, unit, gauge]] of cases.entries()) {
      await arcade.go(`game=sublockus&model=snapshot&players=2&net=lan&seed=${100 + at}`);
      await arcade.until('another match', ({ seed }) => seed === String(100 + at));
      const before = means(await settled(arcade), gauge, 8);
      const value = await arcade.drag(slider, part);
      const after = means(await settled(arcade), gauge, 8);
      higher(after, before, `${gauge} with ${slider} at ${value}`);
      bench.note(`${slider} dragged to ${value.toFixed(0)} ${unit}: ${gauge} ${before.map(Math.round)} to ${after.map(Math.round)}`);
    }
  },

  async 'presets set everything'(bench) {
    const arcade = await bench.open('game=evaluation&model=rollback&players=2&net=perfect');
    await settled(arcade);
    await arcade.click('Intercontinental');
    const report = await settled(arcade);
    assert.match(report.link, /net=intercontinental$/);
    assert.ok(Math.min(...means(report, 'round-trip', 5)) > 100);
    await arcade.click('Perfect');
    const { link } = await arcade.until('the link says so', ({ link }) => link.endsWith('net=perfect'));
    assert.doesNotMatch(link, /latency/);
  },
};
