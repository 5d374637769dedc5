// Every game under every model.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export const MODELS = { lockstep: 'Lockstep', rollback: 'Rollback', snapshot: 'Snapshot interpolation', 'state-sync': 'State sync with prediction', rewind: 'Server rewind (update window)' };
const GAUGES = ['round-trip', 'clock-error', 'download', 'upload', 'corrections', 'rollback-depth', 'lagged-ticks', 'buffer-delay'];

function sum(target, ...args) {
  return execFileSync(join(target, 'debug', 'examples', 'sum'), args, { encoding: 'utf8' }).trim();
}

/** The checksum after so many steps of a match that is played natively. */
export function native({ target }, link, steps) {
  return sum(target, link, String(steps));
}

function soundly(report) {
  assert.equal(report.banner, '');
  assert.equal(report.desyncs, 0);
  for (const gauges of report.gauges) {
    assert.ok(gauges.samples > 0, 'nothing is plotted');
    for (const gauge of GAUGES) assert.ok(Number.isFinite(gauges[gauge]), `${gauge} is ${gauges[gauge]}`);
    assert.ok(gauges['round-trip'] > 10, `a round trip of ${gauges['round-trip']} ms by broadband`);
    assert.ok(gauges.download > 0 && gauges.upload > 0, 'nothing travels');
  }
}

/** The models that the buttons offer for the game that is played. */
async function offered(arcade) {
  const { widgets } = await arcade.report();
  const titles = widgets.filter((widget) => widget.role === 'RadioButton' && widget.enabled).map((widget) => widget.label);
  return Object.entries(MODELS).filter(([, title]) => titles.includes(title)).map(([name]) => name);
}

/** The name and the title of every game of the catalog. */
const GAMES = sum(process.env.TARGET, 'games').split('\n').map((line) => line.split(/ (.*)/));

export const tests = Object.fromEntries(GAMES.map(([game, title]) => [
  `${title} under every model, the same as natively`,
  async (bench) => {
    const arcade = await bench.open();
    await arcade.click(title);
    await arcade.until(`${title} begins`, (report) => report.game === game);
    const models = await offered(arcade);
    assert.ok(models.length >= 2, `${title} is offered under ${models}`);
    for (const model of models) {
      const link = `game=${game}&model=${model}&players=3&seed=11&net=broadband`;
      await arcade.go(link);
      await arcade.until(`${link} begins`, (report) => report.game === game && report.model === model && report.seed === '11' && report.players === 3);
      const before = await arcade.report();
      const report = await arcade.until('150 steps', ({ steps }) => steps >= 150);
      soundly(report);
      assert.ok(report.steps > before.steps);
      assert.equal(report.checksum, native(bench, link, report.steps), `${link} after ${report.steps} steps: in the page and natively`);
      bench.note(`${game} ${model}, 3 players: ${report.frame_rate.toFixed(0)} frames/s, round trip ${report.gauges[0]['round-trip'].toFixed(0)} ms, `
        + `down ${report.gauges[0].download.toFixed(0)} kbit/s; checksum ${report.checksum} at step ${report.steps} in the page and natively`);
    }
  },
]));

tests['the model is changed while it runs'] = async (bench) => {
  const arcade = await bench.open('game=sublockus&model=lockstep&players=2&net=broadband');
  for (const [model, title] of [...Object.entries(MODELS).slice(1), ...Object.entries(MODELS).slice(0, 1)]) {
    const { steps } = await arcade.report();
    await arcade.click(title);
    const report = await arcade.until(`${model} runs`, (report) => report.model === model && report.next_model === '');
    assert.ok(report.steps > steps, 'it goes on, it does not begin again');
    assert.match(report.link, new RegExp(`model=${model}`));
    soundly(await arcade.play(60));
  }
};

tests['hands on the keyboard play'] = async (bench) => {
  const link = 'game=sublockus&model=rollback&players=2&seed=5&net=lan';
  const arcade = await bench.open(link);
  await arcade.click('Who plays player 1');
  await arcade.click('WASD + mouse');
  const { steps } = await arcade.report();
  await arcade.key('d', 700);
  await arcade.key('w', 200);
  const report = await arcade.play(20);
  assert.ok(report.steps > steps);
  assert.notEqual(report.checksum, native(bench, link, report.steps), 'hands play otherwise than the bot');
};

tests['Sublockus with four players is smooth'] = async (bench) => {
  const arcade = await bench.open('game=sublockus&players=4&net=lte');
  const report = await arcade.play(300);
  bench.note(`sublockus, 4 players: ${report.frame_rate.toFixed(1)} frames/s drawn in software`);
  assert.ok(report.frame_rate >= 5, `${report.frame_rate} frames/s`);
};

tests['Skirmish with 4,000 units'] = async (bench) => {
  const arcade = await bench.open('game=skirmish&size=4000&players=2');
  const report = await arcade.play(60);
  soundly(report);
  bench.note(`skirmish, 4,000 units: ${report.frame_rate.toFixed(1)} frames/s drawn in software, ${report.steps} steps`);
  await arcade.away();
  await arcade.screenshot(join(bench.folder, 'skirmish-4000.png'));
};
