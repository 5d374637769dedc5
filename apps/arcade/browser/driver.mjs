// The page as somebody sees and uses it: real mouse and keyboard, with what the page reports of itself to know where things are.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

// Draws without a graphics card; nothing is fetched in the background.
const FLAGS = [
  '--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run',
  '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist',
];

export const SMALL = { width: 1280, height: 720 };
export const LARGE = { width: 1920, height: 1080 };

/** What is waited for comes within this time, in milliseconds, on any machine. */
const PATIENCE = 90_000;

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** `samestep play`, until it is stopped. */
export async function serve(program) {
  const child = spawn(program, ['play', '--no-open'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`samestep play ended with ${code}`)));
  });
  return { address: line.split(' ').pop(), stop: () => child.kill('SIGINT') };
}

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
}

/** The page in a tab of its own. */
export class Arcade {
  #tab;
  #address;
  /** What the console called an error. */
  errors = [];

  constructor(tab, address) {
    this.#tab = tab;
    this.#address = address;
    tab.on('console', (message) => message.type() === 'error' && this.errors.push(message.text()));
    tab.on('pageerror', (error) => this.errors.push(String(error)));
  }

  static async open(browser, address, link, size = SMALL) {
    const tab = await browser.newPage({ viewport: size });
    const arcade = new Arcade(tab, address);
    await tab.goto(`${address}#${link}`);
    await arcade.ready();
    return arcade;
  }

  get tab() {
    return this.#tab;
  }

  async ready() {
    await this.#tab.waitForFunction(() => window.samestep_report?.(), null, { timeout: PATIENCE });
    await this.report();
    await this.frames(3);
  }

  close() {
    return this.#tab.close();
  }

  /** Goes to another link as one does who edits the address. */
  async go(link) {
    await this.#tab.evaluate((hash) => { location.hash = hash; }, link);
    await this.frames(2);
  }

  async reload() {
    await this.#tab.reload();
    await this.ready();
  }

  hash() {
    return this.#tab.evaluate(() => location.hash.slice(1));
  }

  /** Waits until the page has been drawn so often. */
  frames(count) {
    return this.#tab.evaluate(async (count) => {
      for (let at = 0; at < count; at += 1) await new Promise(requestAnimationFrame);
    }, count);
  }

  async report() {
    const text = await this.#tab.evaluate(() => window.samestep_report());
    if (typeof text !== 'string') throw new Error(`the program has stopped: ${this.errors.join('\n')}`);
    return JSON.parse(text);
  }

  /** Waits until what is shown is as it should be. */
  async until(what, holds, patience = PATIENCE) {
    const end = Date.now() + patience;
    for (;;) {
      const report = await this.report();
      if (holds(report)) return report;
      if (Date.now() > end) {
        const { series, widgets, ...rest } = report;
        throw new Error(`never came: ${what}\n${JSON.stringify(rest, null, 1)}`);
      }
      await pause(60);
    }
  }

  /** Plays on for so many steps. */
  async play(steps) {
    const { steps: now } = await this.report();
    return this.until(`step ${now + steps}`, (report) => report.steps >= now + steps);
  }

  async widget(label, role) {
    const is = (widget) => widget.label === label && (role ? widget.role === role : !['Label', 'TextRun'].includes(widget.role));
    const report = await this.until(`a widget ${label}`, ({ widgets }) => widgets.some(is), 10_000);
    return report.widgets.find(is);
  }

  async has(label) {
    const { widgets } = await this.report();
    return widgets.some((widget) => widget.label === label);
  }

  async #move(x, y) {
    await this.#tab.mouse.move(x, y);
    await this.frames(2);
  }

  async click(label, role) {
    const { x, y, w, h } = await this.widget(label, role);
    await this.#move(x + w / 2, y + h / 2);
    await this.#tab.mouse.down();
    await this.frames(1);
    await this.#tab.mouse.up();
    await this.frames(2);
  }

  /** Takes the handle of a slider to a place between its ends, 0 to 1; answers what it is set to then. */
  async drag(label, part) {
    const slider = await this.widget(label, 'Slider');
    const { x, y, w, h } = slider;
    const middle = y + h / 2;
    await this.#move(x + w / 2, middle);
    await this.#tab.mouse.down();
    await this.frames(2);
    const room = h / 2;
    await this.#move(x + room + (w - 2 * room) * (part + 0.5) / 2, middle);
    await this.#move(part >= 1 ? x + w + 20 : part <= 0 ? x - 20 : x + room + (w - 2 * room) * part, middle);
    await this.#tab.mouse.up();
    await this.frames(2);
    return Number((await this.widget(label, 'Slider')).value);
  }

  async key(key, milliseconds = 0) {
    await this.#tab.keyboard.down(key);
    await pause(milliseconds);
    await this.frames(2);
    await this.#tab.keyboard.up(key);
    await this.frames(2);
  }

  /** The mouse over nothing that would say something about itself. */
  async away() {
    await this.#move(1, 1);
    await this.frames(2);
  }

  screenshot(path) {
    return this.#tab.screenshot({ path });
  }
}

/** Mean of the last samples of a gauge, one for each player. */
export function means(report, gauge, samples = 20) {
  return report.series[gauge].map((series) => {
    const last = series.slice(-samples);
    return last.reduce((sum, value) => sum + value, 0) / last.length;
  });
}
