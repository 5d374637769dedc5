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
    await arcade.click('Line of player 2');
    const latency = await arcade.drag('Latency', 0.5);
    const report = await settled(arcade);
    const [one, two, three] = means(report, 'round-trip', 10);
    assert.ok(two > 1.9 * latency && one < 30 && three < 30, `${one}, ${two}, ${three} ms`);
    assert.match(report.link, new RegExp(`latency\\.2=${latency}`));
  },

  async 'jitter and loss delay what is shown, doubles and rate change the traffic'(bench) {
    const arcade = await bench.open('game=sublockus&model=snapshot&players=2&net=lan');
    const lan = await settled(arcade);
    const jitter = await arcade.drag('Jitter', 0.5);
    const jittery = await settled(arcade);
    higher(means(jittery, 'buffer-delay', 5), means(lan, 'buffer-delay', 5), 'delay with jitter');
    bench.note(`jitter dragged to ${jitter} ms: buffer delay ${means(lan, 'buffer-delay', 5).map(Math.round)} to ${means(jittery, 'buffer-delay', 5).map(Math.round)} ms`);
    await arcade.drag('Jitter', 0);

    const once = means(await settled(arcade), 'download');
    const doubles = await arcade.drag('Doubles', 1);
    const twice = means(await settled(arcade), 'download');
    higher(twice, once, 'traffic with doubles');
    bench.note(`doubles dragged to ${doubles} %: download ${once.map(Math.round)} to ${twice.map(Math.round)} kbit/s`);
    await arcade.drag('Doubles', 0);

    await arcade.click('Lockstep');
    await arcade.until('lockstep runs', (report) => report.model === 'lockstep' && report.next_model === '');
    const smooth = means(await settled(arcade), 'lagged-ticks', 15);
    const loss = await arcade.drag('Loss', 0.9);
    const rough = means(await settled(arcade), 'lagged-ticks', 15);
    higher(rough, smooth, 'lagged ticks with loss');
    bench.note(`loss dragged to ${loss} %: lagged ticks ${smooth.map(Math.round)} to ${rough.map(Math.round)} a second under lockstep`);
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
