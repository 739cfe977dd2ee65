import { expect, it } from 'vitest';
import { SCENES } from '../support/killable.ts';
import { killEverywhere, killRecoveries } from '../support/killed-steps.ts';
import { everySecond } from '../support/rounds.ts';

it.each(everySecond(Object.keys(SCENES).map((name) => [name])))(
  '%s is done completely or not at all, whichever step the process is killed at',
  async (name) => {
    // Kill before every n-th step only, but at least twice for each scene. `npm run attack` kills
    // before every step of every scene.
    const { killed, old } = await killEverywhere(name, (steps) => Math.min(32, Math.floor(steps / 2)));
    expect(killed).toBeGreaterThan(1);
    expect(old).toBeGreaterThan(0);
  },
);

it.each(
  everySecond([
    ['a batch', 9],
    ['a move onto another file', 5],
    ['an undo of a recursive delete', 6],
  ]),
)(
  '%s is done completely or not at all, even if the recovery is killed again and again',
  async (name, step) => {
    expect(await killRecoveries(name, { step, stride: 8 })).toBeGreaterThan(0);
  },
);
