import { joinBytes } from '@eventloom/core/internal';
import { WasmReader } from './wasm-reader.ts';

/** The description of the meter to insert. */
interface Meter {
  /** The import to call, of type (i32) → i32; its result is ignored. */
  readonly module: string;
  readonly name: string;
  /** The argument of the call. */
  readonly argument: number;
  /** Number of turns between two calls. */
  readonly turns: number;
  /** The name of an empty custom section that marks the module. */
  readonly mark: string;
}

/** Number of bytes that a bulk instruction moves per turn, as a power of two. */
const BULK_SHIFT = 6;

const SECTION = { type: 1, import: 2, function: 3, global: 6, code: 10 };
const I32 = 0x7f;
const VOID = 0x40;
const OP = {
  loop: 0x03,
  if: 0x04,
  end: 0x0b,
  call: 0x10,
  drop: 0x1a,
  const: 0x41,
  getLocal: 0x20,
  setLocal: 0x21,
  getGlobal: 0x23,
  setGlobal: 0x24,
  lessOrEqual: 0x4c,
  add: 0x6a,
  subtract: 0x6b,
  shiftRight: 0x76,
  copy: 0xfc0a,
  fill: 0xfc0b,
};

/**
 * Returns the module with a meter: a loop counts a turn for each iteration, and a bulk instruction one for each 64 bytes it moves. After a
 * number of turns the import is called, which ends the code by throwing. Code between two calls cannot run for long: code without a loop
 * ends by itself, and recursion ends at the stack limit.
 * @throws TypeError for a module with unknown instructions, or without the import
 */
export function meterWasm(bytes: Uint8Array, { module, name, argument, turns, mark }: Meter): Uint8Array {
  const sections = readSections(bytes);
  const { globals, ticker } = readImports(sections.get(SECTION.import), module, name);
  const defined = new WasmReader(sections.get(SECTION.global) ?? new Uint8Array([0]));
  const count = defined.number();
  // Added after the others, so that no index changes.
  const meter = unsigned(globals + count);
  const added = [I32, 1, OP.const, ...signed(turns), OP.end];
  sections.set(
    SECTION.global,
    Uint8Array.from([...unsigned(count + 1), ...defined.bytes.subarray(defined.at), ...added]),
  );

  const spend = (spent: readonly number[]): number[] =>
    [
      [OP.getGlobal, ...meter, ...spent, OP.subtract, OP.setGlobal, ...meter],
      [OP.getGlobal, ...meter, OP.const, 0, OP.lessOrEqual, OP.if, VOID],
      // The remainder is kept, because one instruction can cost more than a tick.
      [OP.getGlobal, ...meter, OP.const, ...signed(turns), OP.add, OP.setGlobal, ...meter],
      [OP.const, ...signed(argument), OP.call, ...unsigned(ticker), OP.drop, OP.end],
    ].flat();
  const code = new WasmReader(sections.get(SECTION.code) ?? new Uint8Array([0]));
  const bodies = code.number();
  const metered: Uint8Array[] = [Uint8Array.from(unsigned(bodies))];
  const parameters = parameterCounts(sections);
  for (let index = 0; index < bodies; index++) {
    const body = meterBody(code.take(), parameters[index] ?? 0, spend);
    metered.push(Uint8Array.from(unsigned(body.length)), body);
  }
  sections.set(SECTION.code, joinBytes(metered));
  const label = new TextEncoder().encode(mark);
  const custom = joinBytes([Uint8Array.from(unsigned(label.length)), label]);
  const all = [...sections, [0, custom] as const];
  return joinBytes([bytes.subarray(0, 8), ...all.flatMap(([id, body]) => [sectionHead(id, body), body])]);
}

/** Returns a function's body with a meter, and with one more local if it moves bytes. */
function meterBody(body: Uint8Array, parameters: number, spend: (turns: readonly number[]) => number[]): Uint8Array {
  const reader = new WasmReader(body);
  const groups = reader.number();
  const groupsFrom = reader.at;
  let locals = parameters;
  for (let left = groups; left > 0; left--) {
    locals += reader.number();
    reader.byte();
  }
  const length = unsigned(locals);
  const beforeBulk = [
    [OP.setLocal, ...length],
    spend([OP.getLocal, ...length, OP.const, BULK_SHIFT, OP.shiftRight]),
    [OP.getLocal, ...length],
  ].flat();
  const head = [...unsigned(groups + 1), ...body.subarray(groupsFrom, reader.at), 1, I32];
  const chunks: Uint8Array[] = [Uint8Array.from(head)];
  while (!reader.isAtEnd) {
    const from = reader.at;
    const code = reader.instruction();
    if (code === OP.copy || code === OP.fill) chunks.push(Uint8Array.from(beforeBulk));
    chunks.push(body.subarray(from, reader.at));
    if (code === OP.loop) chunks.push(Uint8Array.from(spend([OP.const, 1])));
  }
  return joinBytes(chunks);
}

/**
 * Returns the bodies of the sections by id, in order. Custom sections are omitted: they describe positions of bytes
 * that have moved.
 */
function readSections(bytes: Uint8Array): Map<number, Uint8Array> {
  const reader = new WasmReader(bytes, 8);
  const sections = new Map<number, Uint8Array>();
  while (!reader.isAtEnd) {
    const id = reader.byte();
    const body = reader.take();
    if (id !== 0) sections.set(id, body);
  }
  if (!sections.has(SECTION.global)) throw new TypeError('the WebAssembly has no globals');
  return sections;
}

function readImports(section: Uint8Array | undefined, module: string, name: string) {
  const reader = new WasmReader(section ?? new Uint8Array([0]));
  const kinds = [0, 0, 0, 0];
  let ticker = -1;
  for (let left = reader.number(); left > 0; left--) {
    const path = [reader.text(), reader.text()];
    const kind = reader.byte();
    if (kind === 0 && path[0] === module && path[1] === name) ticker = kinds[0] ?? 0;
    kinds[kind] = (kinds[kind] ?? 0) + 1;
    if (kind === 0) reader.number();
    else if (kind === 3) reader.take(2);
    else {
      if (kind === 1) reader.byte();
      reader.skipNumbers((reader.byte() & 1) + 1);
    }
  }
  if (ticker < 0) throw new TypeError(`the WebAssembly does not import ${module}.${name}`);
  return { globals: kinds[3] ?? 0, ticker };
}

/** Returns the number of parameters of each of the module's own functions. */
function parameterCounts(sections: ReadonlyMap<number, Uint8Array>): number[] {
  const types = new WasmReader(sections.get(SECTION.type) ?? new Uint8Array([0]));
  const ofType = Array.from({ length: types.number() }, () => {
    if (types.byte() !== 0x60) throw new TypeError('a type is not that of a function');
    const parameters = types.take().length;
    types.take();
    return parameters;
  });
  const functions = new WasmReader(sections.get(SECTION.function) ?? new Uint8Array([0]));
  return Array.from({ length: functions.number() }, () => ofType[functions.number()] ?? 0);
}

function sectionHead(id: number, body: Uint8Array): Uint8Array {
  return Uint8Array.from([id, ...unsigned(body.length)]);
}

function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
  return value >= -64 && value < 64 ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}
