// A link restores what somebody saw.

import assert from 'node:assert/strict';

export const tests = {
  async 'a link restores game, model, seed, players and conditions'(bench) {
    const link = 'game=skirmish&model=rollback&players=3&seed=77&server=player&size=300&net=lte&latency.2=90&loss.3=0.07&rate.1=512';
    const arcade = await bench.open(link);
    const { link: canonical, ...report } = await arcade.play(30);
    assert.deepEqual([report.game, report.model, report.players, report.seed, report.server], ['skirmish', 'rollback', 3, '77', 'player']);
    await arcade.until('the address says so', () => true);
    assert.equal(await arcade.hash(), canonical);
    await arcade.reload();
    assert.equal((await arcade.report()).link, canonical);
    const others = await bench.open(canonical);
    assert.equal((await others.report()).link, canonical);
  },

  async 'the address follows what is chosen'(bench) {
    const arcade = await bench.open();
    await arcade.click('Evaluation');
    await arcade.click('3 players');
    await arcade.click('Lockstep');
    const { link } = await arcade.until('all of that', (report) => report.game === 'evaluation' && report.players === 3 && report.model === 'lockstep');
    const end = Date.now() + 5_000;
    while ((await arcade.hash()) !== link && Date.now() < end) await arcade.frames(5);
    assert.equal(await arcade.hash(), link);
  },

  async 'a wrong link gets words and a sandbox'(bench) {
    const arcade = await bench.open('game=chess');
    const report = await arcade.play(20);
    assert.match(report.banner, /chess/);
    assert.equal(report.game, 'sublockus');
    await arcade.go('model=telepathy');
    await arcade.until('words', ({ banner }) => banner.includes('telepathy'));
    await arcade.play(20);
  },
};
