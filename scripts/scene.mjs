// A small scene for the viewer's picture and its tests: three agents in one workspace, played through the real gate.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const CART = `import { taxFor } from './tax.ts';

/** One line of the cart. */
export interface Item {
  readonly name: string;
  readonly price: number;
  readonly count: number;
}

export class Cart {
  readonly #items: Item[] = [];

  add(item: Item): void {
    this.#items.push(item);
  }

  remove(name: string): void {
    const at = this.#items.findIndex((item) => item.name === name);
    if (at >= 0) this.#items.splice(at, 1);
  }

  get items(): readonly Item[] {
    return this.#items;
  }

  /** What the customer pays, with tax. */
  total(country: string): number {
    let sum = 0;
    for (const { price, count } of this.#items) sum += price * count;
    return sum + taxFor(sum, country);
  }

  isEmpty(): boolean {
    return this.#items.length === 0;
  }
}
`;
const TAX = `const RATES: Readonly<Record<string, number>> = { de: 0.19, fr: 0.2, us: 0 };

/** Tax on a sum. */
export function taxFor(sum: number, country: string): number {
  return sum * (RATES[country] ?? 0);
}
`;
const CHECKOUT = `import type { Cart } from './cart.ts';

export function checkout(cart: Cart, country: string): string {
  if (cart.isEmpty()) return 'nothing to pay';
  return \`to pay: \${cart.total(country)}\`;
}
`;
const TOTAL = `  /** What the customer pays, with tax. */
  total(country: string): number {
    let sum = 0;
    for (const { price, count } of this.#items) sum += price * count;
    return sum + taxFor(sum, country);
  }
`;
const DISCOUNTED = `  /** What the customer pays, with discount and tax. */
  total(country: string): number {
    let sum = 0;
    for (const { price, count } of this.#items) sum += price * count;
    const reduced = sum * (1 - this.#discount);
    return reduced + taxFor(reduced, country);
  }
`;
const OVERWRITTEN = `  /** What the customer pays, with tax. */
  total(country: string): number {
    const sum = this.#items.reduce((all, { price, count }) => all + price * count, 0);
    return sum + taxFor(sum, country);
  }
`;

/** Plays the scene. `openSession` is the library's function; `pauseMs` is the time between two steps. */
export async function playScene({ openSession, root, home, pauseMs = 0 }) {
  mkdirSync(join(root, 'src'), { recursive: true });
  const files = {
    'src/cart.ts': CART,
    'src/tax.ts': TAX,
    'src/checkout.ts': CHECKOUT,
    'README.md': '# Shop\n\nA cart.\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
  const sessions = [];
  const open = async (session) => {
    const opened = await openSession({ roots: [root], home, session });
    sessions.push(opened);
    return opened;
  };
  const then = async (promise) => {
    const outcome = await promise;
    if (pauseMs > 0) await setTimeout(pauseMs * (0.5 + Math.random()));
    return outcome;
  };
  const [coder, planner, reviewer] = [await open('coder'), await open('planner'), await open('reviewer')];

  await planner.beginTurn({ turn: 'plan-1', prompt: 'Plan discount codes for the shop' });
  await then(planner.read('README.md'));
  await then(planner.read('src/cart.ts'));
  await then(reviewer.read('src/cart.ts'));
  await then(reviewer.read('src/tax.ts'));

  await coder.beginTurn({ turn: 'code-1', prompt: 'Add a discount code to the cart' });
  await then(coder.write('src/checkout.ts', 'export const checkout = () => {};\n'));
  await then(coder.read('src/cart.ts'));
  await then(coder.read('src/checkout.ts'));
  const discount = await then(
    coder.edit('src/cart.ts', [
      {
        oldString: '  readonly #items: Item[] = [];\n',
        newString: '  readonly #items: Item[] = [];\n  #discount = 0;\n',
      },
      { oldString: TOTAL, newString: DISCOUNTED },
    ]),
  );
  await then(
    coder.edit('src/checkout.ts', [{ oldString: "'nothing to pay'", newString: "'your cart is empty'" }]),
  );

  // The reviewer last saw the file before the discount was added.
  const stale = await then(reviewer.write('src/cart.ts', CART.replace(TOTAL, OVERWRITTEN)));
  await then(planner.read('src/tax.ts'));
  await then(reviewer.read('../../etc/passwd'));
  await then(reviewer.read('src/cart.ts'));
  const overwritten = await then(
    reviewer.edit('src/cart.ts', [{ oldString: DISCOUNTED, newString: OVERWRITTEN }]),
  );

  if (pauseMs > 0) await setTimeout(12 * pauseMs);
  await coder.beginTurn({ turn: 'code-2', prompt: 'Round all prices to cents' });
  await then(coder.read('src/tax.ts'));
  await then(
    coder.write(
      'src/money.ts',
      '/** Rounds to cents. */\nexport function cents(sum: number): number {\n  return Math.round(sum * 100) / 100;\n}\n',
    ),
  );
  const rounded = await then(
    coder.edit('src/tax.ts', [
      {
        oldString: '  return sum * (RATES[country] ?? 0);',
        newString: '  return cents(sum * (RATES[country] ?? 0));',
      },
      { oldString: 'const RATES', newString: "import { cents } from './money.ts';\n\nconst RATES" },
    ]),
  );
  await then(
    planner.edit('src/cart.ts', [{ oldString: 'isEmpty(): boolean', newString: 'get isEmpty(): boolean' }]),
  );
  const draft = await then(
    planner.edit('README.md', [{ oldString: 'A cart.', newString: 'A cart with discount codes.' }]),
  );
  await then(planner.undo({ change: draft.change }));
  for (const session of sessions) await session.close();
  return { discount, stale, overwritten, rounded };
}
