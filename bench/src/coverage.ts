/**
 * Counts the files and functions of our packages that one warm turn over `POST /run_sse` enters: the code that a reader
 * of a turn has to read. Exits with code 1 if a turn enters more than its limit. V8 also reports an entry for the
 * fields of each constructed class. Such an entry is not a function in the source, so the limits exclude it; the second
 * figure includes it. The server runs in this process, with a login, in-memory sessions and a model that answers at
 * once. `--list` also prints each function, `--stack` the call stack of the last model request, as a debugger shows it:
 * the calls of our packages, innermost first.
 */
import { type Profiler, Session } from 'node:inspector/promises';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { InMemorySessionService } from '@eventloom/sessions';
import type { BaseLlm, LlmRequest, LlmResponse } from '@eventloom/core';
import { InstantModel, ToolCallingModel } from './models.ts';
import { APP, createAgent, MESSAGE } from './setup.ts';

/** The functions that a turn entered, by the file that they are in. */
type Entered = ReadonlyMap<string, readonly EnteredFunction[]>;

interface EnteredFunction {
  readonly name: string;
  readonly calls: number;
}

interface Limit {
  readonly files: number;
  readonly functions: number;
}

/** Matches a source file of one of our packages, such as `packages/runner/src/run.ts`. */
const OWN_SOURCE = /\/(packages\/[^/]+\/src\/.+\.ts)$/;
const WARM_TURNS = 5;

const TURNS: readonly { readonly name: string; readonly model: BaseLlm; readonly limit: Limit }[] = [
  { name: 'text turn', model: new InstantModel(), limit: { files: 60, functions: 220 } },
  { name: 'turn with one tool call', model: new ToolCallingModel(1), limit: { files: 80, functions: 300 } },
];

/** The name of V8's entry for the fields of a class. */
const FIELDS = /^<(instance_members|static)_initializer>$/;

/** Matches a call of our packages in a stack: the function, and its position in the source. */
const OWN_CALL = /^\s*at (.+) \(.*\/(packages\/[^/]+\/src\/.+\.ts:\d+):\d+\)$/;

const isListed = process.argv.includes('--list');
const showsStack = process.argv.includes('--stack');
Error.stackTraceLimit = 50;
for (const { name, model, limit } of TURNS) {
  const stacks = showsStack ? noteStacks(model) : [];
  const entered = await coverageOf(model);
  const all = [...entered.values()].flat();
  const functions = all.filter((each) => !FIELDS.test(each.name)).length;
  console.log(
    `${name}: ${entered.size} files (at most ${limit.files}), ${functions} functions (at most ${limit.functions}), ${all.length} with the fields of classes`,
  );
  if (entered.size > limit.files || functions > limit.functions) {
    console.error(`${name}: over its limit: ${entered.size} files, ${functions} functions`);
    process.exitCode = 1;
  }
  if (isListed) printList(entered);
  for (const line of stacks.at(-1)?.split('\n') ?? []) {
    const [, call, place] = OWN_CALL.exec(line) ?? [];
    if (call) console.log(`  ${call}  ${place}`);
  }
}

/** Records the stack of each request to a model. */
function noteStacks(model: BaseLlm): string[] {
  const stacks: string[] = [];
  const generate = model.generateContentAsync.bind(model);
  model.generateContentAsync = (
    request: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> => {
    stacks.push(new Error('a model request').stack ?? '');
    return generate(request, stream, abortSignal);
  };
  return stacks;
}

/** Returns the files and functions that one turn enters, after some turns that warm up the server. */
async function coverageOf(model: BaseLlm): Promise<Entered> {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ ...APP, sessionId: 's' });
  const runner = new Runner({ appName: APP.appName, agent: createAgent(model), sessionService });
  // A deployed server has users.
  const authenticate = () => ({ userId: APP.userId });
  const server = createServer({ runners: [runner], authenticate, limits: { unfinishedRunsEveryMs: 0 } });
  const turn = async (): Promise<void> => {
    const body = JSON.stringify({ ...APP, sessionId: 's', newMessage: MESSAGE });
    const headers = { 'content-type': 'application/json' };
    const response = await server.fetch(new Request('http://localhost/run_sse', { method: 'POST', headers, body }));
    const text = await response.text();
    if (!text.includes('The answer is 42.')) throw new Error(`the turn failed: ${response.status} ${text}`);
  };
  for (let index = 0; index < WARM_TURNS; index++) await turn();
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await turn();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
  await server.drain(0);
  return entered(result);
}

function entered(scripts: readonly Profiler.ScriptCoverage[]): Entered {
  const byFile = new Map<string, EnteredFunction[]>();
  for (const { url, functions } of scripts) {
    const file = OWN_SOURCE.exec(url)?.[1];
    if (!file) continue;
    const called = functions.flatMap(({ functionName, ranges }) => {
      const calls = ranges[0]?.count ?? 0;
      return calls > 0 ? { name: functionName || '(anonymous)', calls } : [];
    });
    if (called.length > 0) byFile.set(file, called);
  }
  return byFile;
}

function printList(entered: Entered): void {
  for (const [file, functions] of [...entered].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    console.log(`  ${file}`);
    for (const { name, calls } of functions) console.log(`    ${name}${calls > 1 ? ` × ${calls}` : ''}`);
  }
}
