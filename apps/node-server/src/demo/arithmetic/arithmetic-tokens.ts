import { ExpressionError } from '../../errors.ts';

/** Functions of arithmetic by name. */
export const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = {
  sqrt: Math.sqrt,
  abs: Math.abs,
  round: Math.round,
  floor: Math.floor,
  ceil: Math.ceil,
  min: Math.min,
  max: Math.max,
  ln: Math.log,
  log: Math.log10,
  exp: Math.exp,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
};

/** Constants by name. */
export const CONSTANTS: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E };

const MAX_LENGTH = 500;
const TOKEN = /\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+|[a-z]+|[-+*/^%(),])/y;

/**
 * Returns the numbers, names and signs of an expression, in lower case.
 *
 * @throws ExpressionError for an unknown character, and for text that is too long
 */
export function arithmeticTokens(text: string): string[] {
  if (text.length > MAX_LENGTH) throw new ExpressionError(`the expression is longer than ${MAX_LENGTH} characters`);
  const source = text.trim().toLowerCase().replaceAll('×', '*').replaceAll('÷', '/').replaceAll('−', '-');
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(source)?.[1];
    if (token === undefined) throw new ExpressionError(`${JSON.stringify(source[at])} is not allowed in an expression`);
    tokens.push(token);
  }
  return tokens;
}
