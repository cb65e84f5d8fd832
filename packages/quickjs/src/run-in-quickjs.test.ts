import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { runInQuickJs, type RunInQuickJsParams } from './run-in-quickjs.ts';

// Workers cannot compile WebAssembly at run time, so they import the engine.
const ENGINE =
  navigator.userAgent === 'Cloudflare-Workers' ? { wasmModule: (await import('./engine.wasm')).default } : {};

const MIB = 1024 * 1024;

/** Runs code with a clock that stands still, so that `maxOperations` is the only effective limit of time. */
function run(code: string, params: Partial<RunInQuickJsParams> = {}) {
  return runInQuickJs({ code, maxOperations: 20_000_000, now: () => 0, ...ENGINE, ...params });
}

test('console output is returned, stdout and stderr separately', async () => {
  const output = await run('console.log("a", 1, { b: [2n, null] }); console.error("c"); console.info("d"); 5');
  expect(output).toEqual({ stdout: 'a 1 { b: [ 2n, null ] }\nd\n', stderr: 'c\n', outcome: 'OUTCOME_OK' });
});

test.each([
  ['1 + 1', '2\n'],
  ['"text"', 'text\n'],
  ['undefined', ''],
  ['const a = 1', ''],
  ['-0', '-0\n'],
  ['const x = await Promise.resolve(3); x * 2', '6\n'],
  ['async function main() { await 0; return "late"; } main()', 'late\n'],
  ['new Map([["k", new Set([1])]])', 'Map { "k" => Set { 1 } }\n'],
  ['const o = {}; o.self = o; o', '{ self: [Circular] }\n'],
  ['class P { x = 1 }; new P()', 'P { x: 1 }\n'],
  ['Object.create(null)', '{}\n'],
  ['new Uint8Array(2)', 'Uint8Array [ 0, 0 ]\n'],
  ['[() => 1, Symbol("s"), /r/, new Date(0)]', expect.stringContaining('1970-01-01T00:00:00.000Z')],
  ['Array(1e9)', expect.stringContaining('… 999999900 more')],
])('without console output the last value is the output: %s', async (code, stdout) => {
  expect(await run(code)).toEqual({ stdout, stderr: '', outcome: 'OUTCOME_OK' });
});

test.each([
  ['\n\nfunction f() { throw new TypeError("bad"); }\nf()', 'Uncaught TypeError: bad', 'code.js:3:'],
  ['\nawait 0;\nnull.x', 'Uncaught TypeError', 'code.js:3:'],
  ['let a;\nlet = = 1', 'Uncaught SyntaxError', 'code.js:2:'],
  ['async function main() {\n await 0;\n throw new Error("m"); }\nmain()', 'Uncaught Error: m', 'code.js:3:'],
  ['throw new Error("outer", { cause: new RangeError("inner") })', 'inner', 'code.js:1:'],
])('an error is returned with its line: %j', async (code, message, place) => {
  const { stderr, outcome } = await run(code);
  expect(outcome).toBe('OUTCOME_FAILED');
  expect(stderr).toContain(message);
  expect(stderr).toContain(place);
});

test('code may throw any value', async () => {
  expect((await run('throw 5')).stderr).toBe('Uncaught 5\n');
  expect((await run('throw { get stack() { throw 1 } }')).outcome).toBe('OUTCOME_FAILED');
  expect((await run('throw new Proxy({}, { get() { throw 1 } })')).outcome).toBe('OUTCOME_FAILED');
});

test('code that awaits a promise that never settles fails', async () => {
  expect((await run('await new Promise(() => {})')).outcome).toBe('OUTCOME_FAILED');
});

test.each([
  'for (;;);',
  'for (;;) { try { for (;;); } catch {} finally { for (;;); } }',
  'for (;;) await 0',
  'const f = async () => { for (;;) await 0; }; const g = () => f().catch(g); await g()',
  'Promise.resolve().then(function again() { return Promise.resolve().then(again) }); await new Promise(() => {})',
  '/(a+)+$/.test("a".repeat(40) + "b")',
  'new Set(Array(2 ** 32 - 1))',
  'throw { get stack() { for (;;); } }',
  'new Proxy({}, { ownKeys() { for (;;); } })',
  '[1].sort.call({ get length() { for (;;); } })',
  'const text = "x".repeat(1e6); for (let turn = 0; turn < 2_000; turn++) text.indexOf("y")',
  'const items = Array(1e6).fill(1); for (let turn = 0; turn < 200; turn++) items.indexOf(2)',
  '"a".repeat(40_000).indexOf("a".repeat(20_000) + "b")',
  'const bytes = new Uint8Array(8e6); for (let turn = 0; turn < 1_000; turn++) bytes.copyWithin(1, 0)',
  'try { "a".repeat(40_000).indexOf("a".repeat(20_000) + "b") } catch {} finally { for (;;); }',
])('endless code is stopped by the operation limit when the clock stands still: %s', async (code) => {
  const { outcome, stderr } = await run(code, { maxOperations: 2_000_000 });
  expect(outcome).toBe('OUTCOME_DEADLINE_EXCEEDED');
  expect(stderr).toContain('2000000 operations');
});

test('code is stopped after timeoutMs', async () => {
  let nowMs = 0;
  const { outcome, stderr } = await run('for (;;);', { timeoutMs: 10, now: () => nowMs++ });
  expect(outcome).toBe('OUTCOME_DEADLINE_EXCEEDED');
  expect(stderr).toContain('10 ms');
  expect(stderr).toContain('code.js:1:');
  expect(nowMs).toBeLessThan(20);
});

test('output before a stop is kept', async () => {
  expect((await run('console.log("so far"); for (;;);', { maxOperations: 2_000_000 })).stdout).toBe('so far\n');
  expect((await run('console.log("so far"); throw 1')).stdout).toBe('so far\n');
});

test.each([
  'const a = []; for (;;) a.push({})',
  'await 0; const a = []; for (;;) a.push({})',
  'new Uint8Array(1e9)',
  '"x".repeat(2 ** 29)',
  'let s = "a"; for (;;) s += s',
  'JSON.stringify(Array(2 ** 32 - 1))',
  'Array(2 ** 31).fill(0)',
])('code that needs too much memory fails, and the next execution starts clean: %s', async (code) => {
  const { outcome } = await run(code, { memoryBytes: 20 * MIB, maxOperations: 250_000_000 });
  expect(outcome).toBe('OUTCOME_FAILED');
  expect((await run('typeof a + typeof s')).stdout).toBe('undefinedundefined\n');
});

test.each([900_000, 40_000, 1_000])('memory allocated in pieces of %i bytes stays within the limit', async (size) => {
  const code = `const held = []; try { for (;;) held.push(new Uint8Array(${size}).fill(1)); } catch {} held.length`;
  for (const memoryBytes of [16 * MIB, 20.5 * MIB, 48 * MIB]) {
    const { stdout } = await run(code, { memoryBytes, maxOperations: 250_000_000 });
    const held = Number(stdout) * size;
    expect(held).toBeLessThan(memoryBytes);
    expect(held).toBeGreaterThan(0.6 * (memoryBytes - 8 * MIB));
  }
});

test('files larger than the memory limit fail before the code runs', async () => {
  const inputFiles = [{ name: 'a.txt', mimeType: 'text/plain', content: btoa('x'.repeat(17 * MIB)) }];
  const output = await run('console.log("ran")', { inputFiles, memoryBytes: 16 * MIB });
  expect(output).toMatchObject({ stdout: '', outcome: 'OUTCOME_FAILED', stderr: expect.stringContaining('memory') });
});

test('an out-of-memory error is named as such, also if no memory can be freed', async () => {
  const { stderr } = await run('globalThis.a = null; for (;;) a = { a }', {
    memoryBytes: 16 * MIB,
    maxOperations: 250_000_000,
  });
  expect(stderr).toContain('out of memory');
});

test('recursion is limited by the stack size', async () => {
  const code = 'let n = 0; const f = () => { n++; f(); }; try { f(); } catch {} n';
  const shallow = await run(code, { stackBytes: 32 * 1024 });
  const deep = await run(code, { stackBytes: 128 * 1024 });
  expect(Number(deep.stdout)).toBeGreaterThan(2 * Number(shallow.stdout));
});

test('line numbers of an error are those of the given code', async () => {
  const { stderr } = await run('console.log({ get x() { throw new Error("in a getter"); } })');
  expect(stderr).toContain('code.js:1:');
  expect(stderr).not.toContain('console.js');
});

test.each([
  'const f = () => f(); f()',
  'const o = {}; let p = o; for (let i = 0; i < 1e5; i++) { p.a = {}; p = p.a; } JSON.stringify(o)',
  'eval("[".repeat(1e6))',
  'new RegExp("(".repeat(1e5))',
])('code that nests too deep fails: %s', async (code) => {
  expect((await run(code, { maxOperations: 250_000_000 })).outcome).toBe('OUTCOME_FAILED');
});

test('long output is truncated with a note', async () => {
  const params = { maxOutputChars: 10, maxOperations: 2_000_000 };
  expect((await run('console.log("123"); console.log("x".repeat(1e6))', params)).stdout).toBe('123\nxxxxxx');
  const endless = await run('for (;;) console.log("12"), console.error("3")', params);
  expect(endless).toMatchObject({ stdout: '12\n12\n', stderr: expect.stringMatching(/^3\n3\n.*truncated/s) });
  expect((await run('throw "x".repeat(1e6)', params)).stderr.length).toBeLessThan(20);
});

test.each([
  ['this.constructor.constructor("return process")()', 'process'],
  ['console.log.constructor("return globalThis")().process.exit()', 'exit'],
  ['fetch("https://example.com")', 'fetch'],
  ['new WebSocket("wss://example.com")', 'WebSocket'],
  ['require("fs")', 'require'],
  ['await import("fs")', 'fs'],
  ['import fs from "fs"', ''],
  ['setTimeout(() => 1)', 'setTimeout'],
  ['WebAssembly.compile', 'WebAssembly'],
  ['std.loadFile("/etc/passwd")', 'std'],
])('the code cannot use %s', async (code, missing) => {
  const { outcome, stderr } = await run(code);
  expect(outcome).toBe('OUTCOME_FAILED');
  expect(stderr).toContain(missing);
});

test('the only globals beyond the language are console and files', async () => {
  const { stdout } = await run('console.log(Object.keys(globalThis).join())');
  expect(stdout).toBe('console,files\n');
});

test('code that modifies builtins does not affect later executions', async () => {
  const code = `
    Object.prototype.toString = Array.prototype.map = Promise.prototype.then = null;
    JSON.stringify = () => { throw 1; };
    Object.defineProperty(Object.prototype, 'message', { get() { throw 2; } });
    globalThis.console = null;
    delete globalThis.files;
    "survived"`;
  expect((await run(code)).stdout).toBe('survived\n');
  expect((await run('[1, 2].map(String).join()')).stdout).toBe('1,2\n');
  expect({}).not.toHaveProperty('message');
});

test('text files are strings by name, and other files are base64', async () => {
  const inputFiles = [
    { name: 'a.csv', mimeType: 'text/csv; charset=utf-8', content: 'w6Qs4oKs' },
    { name: 'b.json', mimeType: 'application/json', content: 'e30=' },
    { name: '__proto__', mimeType: 'image/png', content: 'AAAA' },
  ];
  const { stdout } = await run('Object.entries(files).flat().join(" ")', { inputFiles });
  expect(stdout).toBe('a.csv ä,€ b.json {} __proto__ AAAA\n');
});

test('concurrent executions are isolated', async () => {
  const outputs = await Promise.all(['a', 'b', 'c'].map((name) => run(`globalThis.x ??= "${name}"; await 0; x`)));
  expect(outputs.map(({ stdout }) => stdout)).toEqual(['a\n', 'b\n', 'c\n']);
});

test.each([
  { timeoutMs: 0 },
  { memoryBytes: 16 * MIB - 1 },
  { memoryBytes: 2 ** 31 },
  { stackBytes: 2 ** 21 },
  { maxOperations: Number.NaN },
  { maxOutputChars: 0 },
])('an invalid limit is refused: %o', async (bounds) => {
  await expect(run('1', bounds)).rejects.toBeInstanceOf(ConfigurationError);
});
