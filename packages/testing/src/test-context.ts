import {
  BaseAgent,
  type BaseArtifactService,
  type BaseMemoryService,
  ConfigurationError,
  type Content,
  type Event,
  InvocationContext,
  type Platform,
  type RunConfig,
} from '@eventloom/core';
import {
  AbortGuard,
  type DerivedValues,
  type OptionRules,
  checkOptions,
  isBaseAgent,
  wrongOption,
  PluginManager,
  type RunHost,
} from '@eventloom/core/internal';
import { fixedPlatform } from './fixed-platform.ts';

/** Options of `testContext`. All are optional. */
export interface TestContextOptions {
  /** The agent of the context. Default: an agent named `agent` that yields no events. */
  readonly agent?: BaseAgent;
  /** The state of the session `s` of the user `u` in the app `app`. Default: empty. */
  readonly state?: Record<string, unknown>;
  /** The events of the session. Default: none. */
  readonly events?: Event[];
  readonly userContent?: Content;
  readonly runConfig?: RunConfig;
  readonly plugins?: PluginManager;
  readonly artifactService?: BaseArtifactService;
  readonly memoryService?: BaseMemoryService;
  /** Clock, ids, random numbers and timers. Default: a new `fixedPlatform()`. */
  readonly platform?: Platform;
  /** Values derived from the events so far. Default: none. */
  readonly derived?: DerivedValues;
}

const OPTIONS: OptionRules<TestContextOptions> = {
  agent: 'object',
  state: 'object',
  events: 'list',
  userContent: 'object',
  runConfig: 'object',
  plugins: 'object',
  artifactService: 'object',
  memoryService: 'object',
  platform: 'object',
  derived: 'object',
};

/** Runs agents without a runner: their events are neither completed nor stored. */
const HOST: RunHost = {
  runAgent: (context) => context.agent.runIn(context),
  runSubInvocation: () => {
    throw new ConfigurationError('runSubInvocation: an agent can be run within a run only by a runner');
  },
  readMessage: async (_context, message) => ({ message, calls: [], answers: undefined }),
};

class SilentAgent extends BaseAgent {
  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
}

/**
 * Creates an invocation context for tests of tools, callbacks and instructions without a runner. Nothing is stored, and tool calls are not
 * recorded.
 *
 * @example
 * const toolContext = new ToolContext({ invocationContext: testContext(), functionCallId: 'c1' });
 * // In the context of a call whose question was answered, `getInput('size')` returns 'L'. The key of a question without one is ''.
 * const inputs = new Map([['size', 'L']]);
 * const answered = new ToolContext({ invocationContext: testContext(), functionCallId: 'c1', inputs });
 */
export function testContext(options: TestContextOptions = {}): InvocationContext {
  checkOptions('testContext', OPTIONS, options);
  if (options.agent && !isBaseAgent(options.agent))
    throw wrongOption('testContext', 'agent', 'an agent', options.agent, "new LlmAgent({ name: 'helper' })");
  const { agent = new SilentAgent({ name: 'agent' }), state = {}, events = [] } = options;
  const lastSeq = events.length;
  const session = { id: 's', appName: 'app', userId: 'u', state, events, lastUpdateTime: 0, lastSeq, incarnation: 'i' };
  return InvocationContext.create({
    invocationId: 'e-1',
    rootAgent: agent.rootAgent,
    session,
    runConfig: options.runConfig ?? {},
    userContent: options.userContent,
    abort: new AbortGuard(),
    platform: options.platform ?? fixedPlatform(),
    plugins: options.plugins ?? new PluginManager(),
    artifactService: options.artifactService,
    memoryService: options.memoryService,
    models: undefined,
    derived: options.derived ?? new Map(),
    ledger: { recordToolCall: () => undefined, listToolCalls: () => [], checkLease: () => undefined },
    host: HOST,
  }).forAgent(agent);
}
