import { setOwn } from '../content/json.ts';
import type { FunctionCall, Part, PartialArg } from '../content/content.ts';

/** Gathers function calls whose arguments are streamed in pieces (`partialArgs`, `willContinue`). */
export class StreamedCalls {
  #open: { readonly part: Part; readonly call: FunctionCall; readonly args: Record<string, unknown> } | undefined;

  /** The part with the whole call once it is there; undefined while more of it is to come. */
  add(part: Part): Part | undefined {
    const call = part.functionCall;
    if (!call) return undefined;
    if (!this.#open && !call.willContinue && !call.partialArgs) return part;
    if (call.name !== undefined || !this.#open) {
      this.#open = { part, call, args: { ...call.args } };
    }
    const { args } = this.#open;
    for (const piece of call.partialArgs ?? []) putPiece(args, piece);
    if (call.willContinue) return undefined;
    const { partialArgs: _pieces, willContinue: _more, ...head } = this.#open.call;
    const whole: Part = { ...this.#open.part, functionCall: { ...head, args } };
    this.#open = undefined;
    return whole;
  }
}

/** Puts a piece where its JSON path says (`$.a.b[0]`): strings are appended, anything else is set. */
function putPiece(args: Record<string, unknown>, piece: PartialArg): void {
  const keys = pathKeys(piece.jsonPath ?? '$');
  const last = keys.pop();
  if (last === undefined) return;
  let target: Record<string, unknown> = args;
  for (const [index, key] of keys.entries()) {
    const existing = Object.hasOwn(target, key) ? target[key] : undefined;
    if (typeof existing === 'object' && existing !== null) {
      target = existing as Record<string, unknown>;
    } else {
      const next = /^\d+$/.test(keys[index + 1] ?? last) ? [] : {};
      setOwn(target, key, next);
      target = next as Record<string, unknown>;
    }
  }
  const before = Object.hasOwn(target, last) ? target[last] : undefined;
  setOwn(
    target,
    last,
    typeof before === 'string' && piece.stringValue !== undefined ? before + piece.stringValue : pieceValue(piece),
  );
}

function pieceValue(piece: PartialArg): unknown {
  return piece.stringValue ?? piece.numberValue ?? piece.boolValue ?? null;
}

/** The keys of a JSON path of names and indices: `$.a['b c'][0]` gives a, b c, 0. */
function pathKeys(path: string): string[] {
  return Array.from(
    path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/g),
    (match) => match[1] ?? match[2] ?? match[3] ?? match[4] ?? '',
  );
}
