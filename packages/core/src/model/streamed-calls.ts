import { setOwn } from '../content/json.ts';
import type { FunctionCall, Part, PartialArg } from '../content/content.ts';

/** Assembles function calls whose arguments are streamed in pieces (`partialArgs`, `willContinue`), one call after the other. */
export class StreamedCalls {
  #open: { readonly part: Part; readonly call: FunctionCall; readonly args: Record<string, unknown> } | undefined;
  readonly #lost: string[] = [];

  /** The names of the incomplete calls: those that were abandoned, and the one whose pieces are still arriving. */
  get incomplete(): readonly string[] {
    return this.#open ? [...this.#lost, this.#open.call.name ?? ''] : this.#lost;
  }

  /**
   * Returns the part with the complete call; undefined while pieces of it are missing. A call that is not streamed is returned unchanged. A
   * call that is incomplete when the next one begins is dropped, and so is a piece that belongs to no call: see `incomplete`.
   */
  add(part: Part): Part | undefined {
    const call = part.functionCall;
    if (!call) return undefined;
    const open = this.#continuedBy(call);
    if (!open) {
      if (this.#open) this.#lost.push(this.#open.call.name ?? '');
      this.#open = undefined;
      if (call.name === undefined) {
        this.#lost.push(call.id ?? '');
        return undefined;
      }
      if (!call.willContinue && !call.partialArgs) return part;
    }
    const { partialArgs, willContinue, ...head } = call;
    const args = open ? open.args : { ...call.args };
    if (open) for (const [key, value] of Object.entries(call.args ?? {})) setOwn(args, key, value);
    for (const piece of partialArgs ?? []) putPiece(args, piece);
    const gathered = { part: { ...open?.part, ...part }, call: { ...open?.call, ...head }, args };
    this.#open = willContinue ? gathered : undefined;
    return willContinue ? undefined : { ...gathered.part, functionCall: { ...gathered.call, args } };
  }

  /** Returns the open call if this one is a piece of it: pieces leave the name out, or repeat the id. */
  #continuedBy(call: FunctionCall) {
    const open = this.#open;
    return call.name === undefined || (call.id !== undefined && call.id === open?.call.id) ? open : undefined;
  }
}

/** Applies a piece at its JSON path (`$.a.b[0]`): strings are appended, other values are set. A named key in a list is dropped. */
function putPiece(args: Record<string, unknown>, piece: PartialArg): void {
  const keys = parseJsonPath(piece.jsonPath ?? '$');
  let target: object = args;
  for (const [depth, key] of keys.entries()) {
    const at = keyWithin(target, key);
    if (at === undefined) return;
    const existing: unknown = Object.hasOwn(target, at) ? target[at as keyof typeof target] : undefined;
    if (depth === keys.length - 1) {
      const { stringValue } = piece;
      const appends = typeof existing === 'string' && stringValue !== undefined;
      setOwn(target as Record<string, unknown>, at, appends ? existing + stringValue : pieceValue(piece));
    } else if (typeof existing === 'object' && existing !== null) {
      target = existing;
    } else {
      const next = typeof keys[depth + 1] === 'number' ? [] : {};
      setOwn(target as Record<string, unknown>, at, next);
      target = next;
    }
  }
}

/**
 * Returns the index to write to in a list. An index past the end becomes the end and names such as `length` are
 * refused, so that no piece can create a huge list.
 */
function keyWithin(target: object, key: string | number): string | undefined {
  if (!Array.isArray(target)) return String(key);
  return typeof key === 'number' ? String(Math.min(key, target.length)) : undefined;
}

function pieceValue(piece: PartialArg): unknown {
  return piece.stringValue ?? piece.numberValue ?? piece.boolValue ?? null;
}

/** Parses a JSON path (RFC 9535) of names and indices into keys: `$.a['b c'][0]` gives `a`, `b c`, 0. */
export function parseJsonPath(path: string): (string | number)[] {
  return Array.from(path.matchAll(SEGMENT), ([, name, index, single, double]) => {
    if (index !== undefined) return Number(index);
    return name ?? (single ?? double ?? '').replace(/\\(.)/g, '$1');
  });
}

const SEGMENT = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/g;
