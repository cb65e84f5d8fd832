import {
  BaseAgent,
  type BaseArtifactService,
  type BaseMemoryService,
  type Content,
  type Event,
  InvocationContext,
  type Platform,
  PluginManager,
  type RunConfig,
} from '@eventloom/core';
import { AbortGuard, type OptionNames, checkKnown } from '@eventloom/core/internal';
import { fixedPlatform } from './fixed-platform.ts';

/** Options of a test context; all have a default. */
export interface TestContextOptions {
  /** Default: an agent named `agent` that says nothing. */
  readonly agent?: BaseAgent;
  /** The state of the session, which is `s` of the user `u` in the app `app`. */
  readonly state?: Record<string, unknown>;
  /** The events of the session. */
  readonly events?: Event[];
  readonly userContent?: Content;
  readonly runConfig?: RunConfig;
  readonly plugins?: PluginManager;
  readonly artifactService?: BaseArtifactService;
  readonly memoryService?: BaseMemoryService;
  /** Default: a new `fixedPlatform()`. */
  readonly platform?: Platform;
  /** Values derived from the events so far; see `Invocation.derived`. */
  readonly derived?: Map<unknown, unknown>;
}

const OPTIONS: OptionNames<TestContextOptions> = {
  agent: true,
  state: true,
  events: true,
  userContent: true,
  runConfig: true,
  plugins: true,
  artifactService: true,
  memoryService: true,
  platform: true,
  derived: true,
};

class SilentAgent extends BaseAgent {
  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
}

/**
 * Creates the context of an agent at work, for tests of tools, callbacks and instructions without a runner. Nothing is stored, and tool
 * calls are not recorded. A tool gets `new ToolContext({ invocationContext: testContext(), functionCallId: 'c1' })`.
 */
export function testContext(options: TestContextOptions = {}): InvocationContext {
  checkKnown('testContext', OPTIONS, options);
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
    recordToolCall: () => undefined,
    runAgent: (context) => context.agent.runIn(context),
  }).forAgent(agent);
}
