/** Reports the size of the one file that a Worker loads, and fails if it is over its budget. */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type BuildOptions } from 'esbuild';
import { readPackages } from '../tests/structure/repository.ts';

const root = join(import.meta.dirname, '..');

/** Bundled as wrangler bundles a Worker with `minify: true` and `keep_names: false`. */
const worker: BuildOptions = {
  platform: 'browser',
  conditions: ['workerd', 'worker', 'browser'],
};

/** Budgets in bytes, gzipped. Raise one, and give the reason, if a smaller bundle would need an unreadable import. */
const bundles = [
  // The aim is 66 kB. Above it: the JSON Schema library (3.7 kB), code in replies (1.4 kB), and media, client tools, toolsets and instrumentation,
  // and the records and ends of runs, requests that are sent again, and retries while a storage is unreachable;
  // errors that say what to write, and the names that were probably meant (2.9 kB); answers and request ids that are sent again to any
  // process, agents as tools that keep what they stored, a bounded wait for a session, and calls of live runs that end (2.9 kB);
  // schemas of zod 3, zod/mini and zod before 4.2 as JSON Schema (2.5 kB), and what was added to runs and errors at the same time;
  // records of the events of called agents that a run yields, appends of several events at once, and checks of the ADK's habits (1.5 kB);
  // agents in mode task and single_turn, events of a scope, replies that end inside a call, and locks of new runs without a promise (2.3 kB);
  // capabilities of models, which are checked before a request, and errors that name what was given (0.4 kB);
  // the kind and an example of every option, and one check of them (1 kB);
  // parents of observed operations, artifacts by file name alone, tools of servers that are skipped for their names, contents that follow a
  // change of the model, and request processors (1.4 kB);
  // errors for a class or a service in the wrong place, misspelt options of a model, and fields of a first session (0.6 kB);
  // results of tasks whose process was lost, each read and write of a locked session by its name (0.3 kB);
  // calls under the ledger in one function, marks and derived values by name, and resumed runs that fail with their stored error (0.5 kB);
  // errors for callbacks of several parameters, and for agents whose work is not a generator (0.4 kB);
  // errors for loops without await, changed lists of agents, old runtimes, and names that say what to write (0.4 kB);
  // paths of faults with the beginnings of long keys (0.1 kB);
  // errors for streams and promises that are used as lists, assigned lists of agents, and state in the wrong context (0.3 kB);
  // checks of resumption handles and of parameters of live runs, and errors for models of a wrong kind (0.3 kB);
  // errors for misspelt fields of events, assigned callbacks and schemas, and models that are not generators (0.4 kB);
  // errors for models of another class or without a name, instructions that are not text, and values that are not drivers (0.5 kB);
  // the attempt that closes a run, a bounded wait for a storage that does not answer, and errors for wrong arguments of services and events (0.9 kB);
  // the texts that agents other than LlmAgents were streaming when a run was aborted (0.4 kB);
  // the order of requests for events that overlap, and artifacts of processes that were stopped (0.3 kB);
  // the cancellation of runs that wait for answers, and errors that say what to write (0.4 kB);
  // dates of zod 3, and what programs of the ADK read in a state and do to lists of events (0.2 kB);
  // calls that wait for answers and are cancelled with their run (0.1 kB).
  // The size of the states of sessions, users and apps, and answers that come after the end of their run: 0.5 kB.
  // Schemas that contain themselves, what agents in nodes of a workflow said, and answers to their questions and calls: 0.7 kB. Runs that end with their storage: 0.3 kB.
  // Sessions that are deleted while a run waits for them, and states of events that are appended together: 0.3 kB.
  // Declarations of tools that change, requests to people that are cancelled with the agent that made them, and plugins that get no bookkeeping: 0.4 kB.
  // Calls of agents that failed or ended as tools, which are answered before their run ends, and hidden reasons of these failures: 0.2 kB.
  // Agents that store nothing after their end, and requests of theirs that readers see cancelled: 0.1 kB.
  // Calls with ids that a model repeats, answers that begin runs, agents that other tools call, calls that are
  // left at the end of a run, replies that ask at the same time, and answers to several agents: 1.2 kB.
  // Questions of agents whose tool has returned: 0.2 kB. Questions of nodes in calls of tools, late answers to nodes, and passwords in addresses: 0.6 kB.
  // Nodes side by side in calls of tools: 0.3 kB. Messages that are checked before a run is interrupted for them: 0.2 kB.
  // Results of tools that would lose their content, and what to write instead: 0.3 kB.
  // Large sessions that are read in parts: 0.2 kB. Limits of time of runs, tools and models: 0.8 kB. Answers of another kind than their request: 0.4 kB.
  { name: 'runtime', entry: 'tests/size/in-memory-agent.ts', budget: 108_500 },
  // Without live runs, which a server takes as an option.
  // The aim is 80 kB. Above it, beside the runtime's own: bounds of each user and the run policy, protocols, runs that are started
  // without a connection and report their end by webhooks, runs that are read out of their sessions, webhooks that outlive their process (2 kB),
  // checks of each field of a protocol's route, memory that is shared out by user, and answers that are true for runs of other processes (2 kB).
  // The streams of protocols that report their failure, and errors that quote a request in few printable characters (0.6 kB).
  // Bodies of protocols that fail before their response begins or have another length, and starts of runs without an answer of the storage (0.7 kB).
  // Chunks whose shared fields are written once (0.3 kB), ends of runs that other processes ended, and cancellations that outlive the process of
  // their run (0.5 kB). Copies of sessions as they were after an event, with their artifacts (1.7 kB). Frames that a relay lost and that are
  // read from the session, ends of cancelled runs of other processes, bounds of the keys and the metadata of a body, and the order of paths
  // (0.6 kB). Imports in steps, room for other users, and cancelled runs that are closed by their attempt (0.8 kB). Room for
  // small bodies, large bodies, answers and copies in turn, slow bodies, and imported runs that are open (0.7 kB).
  // Cancelled requests, runs of deleted sessions and of storages that do not answer, and small bodies that stall (0.7 kB). Cancellations of
  // requests that several processes have, kept runs shared out by user, refused bodies that are read, and routes that are checked (0.9 kB).
  // Bounds of the answers that clients have not read (1 kB), of the values of a body (0.1 kB), and of large events that
  // clients have not read, which are written in parts (0.4 kB). Failed calls of models that clients of the ADK get as
  // events (0.2 kB). Followers of runs without a message, readers counted early, unfinished runs that cannot be
  // finished, and runs that end with their storage (0.5 kB). Answers without a 404 for what a page may expect to be absent, and
  // ids of copies that name their origin (0.3 kB). Logs of stopped runs that end with what is stored, failures that
  // a rewind undid, and writers of protocols that throw: 0.5 kB. Requests that are cancelled before their storage answers: 0.1 kB.
  // The route that saves artifacts: 0.3 kB. Copies that answer the calls which a run in progress leaves by the rule of runs: 0.6 kB, most of it
  // because the runner's modules come in another order. Receivers of webhooks that leave room for others: 0.1 kB. A base path: 0.2 kB. It grows with the runtime.
  // Left runs that leave room for those of other users: 0.2 kB. Answers, above: 0.4 kB. Cached events that are compared with what is stored: 0.1 kB.
  { name: 'runtime, server and hono', entry: 'tests/size/server.ts', budget: 164_300 },
  // The aim is 185 kB, for the same reasons. The object's store of runs is gone.
  // The limit is 8 kB of 1,024 bytes each: 8.2 kB of 1,000, which are printed here and stand in the guides.
  { name: 'client', entry: 'packages/client/src/index.ts', budget: 8192 },
  // The client with the state of a chat, which sends each message to its end and reads several runs (0.5 kB). Chunks that come twice,
  // replies of agents that are called as tools and in graphs, and sessions that are created again after a lost connection: 0.4 kB.
  // Answers and changes of other pages, answers that are sent once, and sessions that are read again after failures: 0.6 kB.
  { name: 'client with a chat', entry: 'tests/size/chat.ts', budget: 8700 },
  // With the base classes and checks that agents load too, and without the vendors' providers. Checks of capabilities, and errors for
  // answers that are not a stream (0.6 kB); schemas of answers by the rules of OpenAI's strict mode, and errors of other servers (0.9 kB);
  // suggestions for misspelt options (0.2 kB).
  { name: 'models of the AI SDK', entry: 'packages/ai-sdk/src/index.ts', budget: 16_000 },
  // With the check of arguments by JSON Schema, and the reader of YAML (30 kB), which is loaded for a document in YAML.
  // Schemas that contain themselves: 0.1 kB.
  { name: 'tools from OpenAPI documents', entry: 'packages/openapi/src/index.ts', budget: 67_300 },
  // With the client library of the protocol (88 kB), and LlmAgent, whose model answers requests of servers; the check that addresses which a
  // server names are public (0.9 kB), advice for connections that fail (0.3 kB), lost sockets (0.1 kB), bounds of progress, and the check of the marks of headers (0.8 kB).
  // Errors of models and instructions, above: 0.2 kB. Calls, above: 0.1 kB. Answers, above: 0.1 kB.
  // With jose (19.5 kB), which the client library imports when a server binds tokens to keys: a bundle of one file has it, elsewhere it is loaded then.
  // Ids of runs in the order of time: 0.1 kB. Calls that are found by id and branch, above: 0.1 kB.
  // Limits of time, above: 0.4 kB.
  { name: 'tools of MCP servers', entry: 'packages/mcp/src/index.ts', budget: 144_900 },
  // With the base class of agents, requests for input and the reader of event streams, for agents on other servers, and with what the server
  // shares with its protocols: errors, their statuses, and the checks of ids. Lost streams that are continued: 1.2 kB.
  // Lists of tasks: 1.3 kB. Circles of agents, secrets in headers, and artifacts that are compared once and bounded: 0.9 kB.
  // Artifacts that a server changes or extends (0.5 kB); fields of cards, names of A2A 0.3 in errors, and tasks without a result (0.3 kB);
  // calls of tasks that have a branch of their own (0.1 kB); artifacts of processes that were stopped (0.1 kB);
  // cancelled tasks that wait for answers (0.1 kB); the status of unread answers (0.1 kB);
  // the lists of open calls, which do not look at answered ones (0.1 kB); questions of nodes on branches of their own (0.1 kB).
  // Calls of workflows that are interrupted, and requests that have their answer: 0.1 kB. Calls that are found by id and branch: 0.3 kB.
  { name: 'agents over A2A', entry: 'packages/a2a/src/index.ts', budget: 35_900 },
  // With the reader of YAML, for the front matter of skills; a registry, additional tools and scripts of the model (1.7 kB).
  { name: 'skills', entry: 'packages/skills/src/index.ts', budget: 42_500 },
  // Without @opentelemetry/api, which applications install. The exporter that needs no SDK, and the record of an operation: 2.8 kB.
  // Texts of a batch that are written once: 0.1 kB.
  { name: 'spans and metrics', entry: 'packages/otel/src/index.ts', budget: 13_000 },
  // Since it has Studio, and agents and a model for those who have no key: 2.3 kB more. The spans that Studio draws, and their routes: 5.6 kB.
  // What the server grew by, above: 3 kB. What the runtime grew by, above: 1.7 kB. Spans that are made when they are read: 0.9 kB.
  // Bodies of protocols, above: 0.7 kB. Checks of live runs, above: 0.3 kB. Errors, above: 0.7 kB. Chunks, above: 0.3 kB.
  // Ends and cancellations, above: 0.5 kB. Copies, above: 1.7 kB. Causes of errors in spans, and the state with which a session began: 0.4 kB.
  // Errors of models, instructions and bundles, above: 0.7 kB. Lost frames and bounds of bodies, above: 0.6 kB.
  // Imports, room for users, attempts and arguments, above: 1.7 kB. Cancellations, above: 1.3 kB. Bounds of answers and values, cancelled calls and large events, above: 1.4 kB.
  // Failed calls of models, above: 0.2 kB. Ends of live runs in other processes: 0.1 kB.
  // Followers, unfinished runs and ends of storages, above: 0.5 kB. Schemas and nodes, above: 0.8 kB. Answers without a 404
  // and ids of copies, above: 0.3 kB. Refused requests of adk-web: 0.2 kB. Calls of agents as tools, above: 0.3 kB. Runs of sessions that are deleted: 0.1 kB.
  // Lists of runs that wait, and cancelled requests that readers see: 0.8 kB. Questions of nodes and late answers, above: 0.8 kB.
  // Two answers to one question: 0.1 kB. The route that saves artifacts, above: 0.3 kB. Calls that copies answer, above: 0.5 kB. Late work of protocols: 0.1 kB.
  // Tool calls that are recorded together: 0.2 kB. Checks before interruptions, above and in the store: 0.3 kB. Later versions of trace headers: 0.1 kB.
  // The API version of live connections: 0.1 kB. Results that would lose their content, above: 0.4 kB. Limits of time, above: 0.9 kB. Answers, above: 0.4 kB.
  { name: 'Worker with Gemini, live and Studio', entry: 'apps/edge-worker/src/worker.ts', budget: 263_700 },
];

console.log('Bundle size, minified / gzip (kB)');
for (const { name, entry, budget } of bundles) {
  const size = await measure(entry, worker);
  console.log(row(name, size));
  if (size.gzip > budget) {
    console.error(`${name}: is over its budget of ${inKilobytes(budget)} kB gzip.`);
    process.exitCode = 1;
  }
}
console.log('Own code of each entry point, for information');
for (const { folder, manifest } of readPackages(root)) {
  for (const [key, source] of Object.entries(manifest.exports ?? {})) {
    const own = await measure(join(folder, source), { platform: 'neutral', packages: 'external' });
    console.log(row(`${manifest.name}${key.slice(1)}`, own));
  }
}

interface Size {
  readonly minified: number;
  readonly gzip: number;
}

async function measure(entry: string, options: BuildOptions): Promise<Size> {
  const { outputFiles } = await build({
    ...options,
    entryPoints: [entry],
    absWorkingDir: root,
    outfile: 'bundle.js',
    bundle: true,
    format: 'esm',
    minify: true,
    target: 'es2024',
    write: false,
    logLevel: 'error',
    // The engine is not code of this project.
    loader: { '.wasm': 'empty' },
  });
  const contents = outputFiles?.[0]?.contents ?? new Uint8Array();
  return { minified: contents.byteLength, gzip: gzipSync(contents).byteLength };
}

function row(name: string, { minified, gzip }: Size): string {
  return `${name.padEnd(36)} ${inKilobytes(minified).padStart(8)} ${inKilobytes(gzip).padStart(8)}`;
}

function inKilobytes(bytes: number): string {
  return (bytes / 1000).toFixed(1);
}
