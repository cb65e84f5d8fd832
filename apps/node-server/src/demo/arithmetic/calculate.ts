import { ExpressionError } from '../../errors.ts';
import { arithmeticTokens, CONSTANTS, FUNCTIONS } from './arithmetic-tokens.ts';

const MAX_DEPTH = 50;
/** Number of digits that a double represents exactly. Further digits are rounding noise. */
const DIGITS = 12;

/**
 * Computes an expression: `+ - * / ^`, parentheses, `17% of 340`, `7 mod 3`, functions such as `sqrt(2)`, `pi` and `e`.
 * Parses a grammar and evaluates no code.
 * @throws ExpressionError for an invalid expression, and for a result that is not finite
 */
export function calculate(expression: string): number {
  const parser = new Parser(arithmeticTokens(expression));
  const value = parser.parse();
  if (!Number.isFinite(value)) throw new ExpressionError(`${expression.trim()} has no finite result`);
  return Number(value.toPrecision(DIGITS));
}

class Parser {
  readonly #tokens: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  parse(): number {
    const value = this.#sum();
    if (this.#at < this.#tokens.length) throw unexpected(this.#next);
    return value;
  }

  get #next(): string | undefined {
    return this.#tokens[this.#at];
  }

  #take(...tokens: readonly string[]): string | undefined {
    const next = this.#next;
    if (next === undefined || !tokens.includes(next)) return undefined;
    this.#at++;
    return next;
  }

  #sum(): number {
    let value = this.#product();
    for (let sign = this.#take('+', '-'); sign; sign = this.#take('+', '-')) {
      const other = this.#product();
      value = sign === '+' ? value + other : value - other;
    }
    return value;
  }

  #product(): number {
    let value = this.#signed();
    for (let sign = this.#take('*', '/', 'of', 'mod'); sign; sign = this.#take('*', '/', 'of', 'mod')) {
      const other = this.#signed();
      value = sign === '/' ? value / other : sign === 'mod' ? value % other : value * other;
    }
    return value;
  }

  #signed(): number {
    return this.#nested(() => {
      if (this.#take('-')) return -this.#signed();
      if (this.#take('+')) return this.#signed();
      return this.#power();
    });
  }

  #power(): number {
    const base = this.#percent();
    return this.#take('^') ? base ** this.#signed() : base;
  }

  #percent(): number {
    let value = this.#atom();
    while (this.#take('%')) value /= 100;
    return value;
  }

  #atom(): number {
    const token = this.#next;
    if (token === undefined) throw new ExpressionError('the expression ends too early');
    this.#at++;
    if (token === '(') return this.#closed(this.#sum());
    if (/^[.\d]/.test(token)) return Number(token);
    if (Object.hasOwn(CONSTANTS, token)) return CONSTANTS[token] ?? 0;
    const apply = Object.hasOwn(FUNCTIONS, token) ? FUNCTIONS[token] : undefined;
    if (!apply) throw unexpected(token);
    if (!this.#take('(')) return apply(this.#signed());
    const values = [this.#sum()];
    while (this.#take(',')) values.push(this.#sum());
    return this.#closed(apply(...values));
  }

  #closed(value: number): number {
    if (!this.#take(')')) throw new ExpressionError('a parenthesis is not closed');
    return value;
  }

  #nested<T>(parse: () => T): T {
    if (++this.#depth > MAX_DEPTH) throw new ExpressionError(`the expression nests deeper than ${MAX_DEPTH} levels`);
    const value = parse();
    this.#depth--;
    return value;
  }
}

function unexpected(token: string | undefined): ExpressionError {
  return new ExpressionError(`${JSON.stringify(token ?? 'the end')} is not expected here`);
}
