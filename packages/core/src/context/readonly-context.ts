import type { Content } from '../content/content.ts';
import { type State, StateReader } from '../state/state.ts';
import type { InvocationContext } from './invocation-context.ts';

/** State that can be read but not written. */
export type ReadonlyState = Pick<State, 'get' | 'has' | 'toRecord'>;

/**
 * The parameter of an instruction function, and the base of the contexts of callbacks and tools: who runs, for whom, and the session's state
 * for reading.
 *
 * @example
 * const instruction = (context: ReadonlyContext): string => `Answer in ${context.state.get('language', 'English')}.`;
 */
export class ReadonlyContext {
  /** The context of the agent that runs, for what this class does not offer. */
  readonly invocationContext: InvocationContext;

  constructor(invocationContext: InvocationContext) {
    this.invocationContext = invocationContext;
  }

  /** Id of the run: the same in all of its events. */
  get invocationId(): string {
    return this.invocationContext.invocationId;
  }

  /** Name of the agent that runs. */
  get agentName(): string {
    return this.invocationContext.agent.name;
  }

  /** Name of the app, as given to the runner. */
  get appName(): string {
    return this.invocationContext.appName;
  }

  /** Id of the user that the session belongs to. */
  get userId(): string {
    return this.invocationContext.userId;
  }

  /** Id of the session. */
  get sessionId(): string {
    return this.invocationContext.session.id;
  }

  /** The message that started the run; undefined for a run without one. */
  get userContent(): Content | undefined {
    return this.invocationContext.userContent;
  }

  /** The session's state, with writes of this run that are not stored yet. `get` returns copies. */
  get state(): ReadonlyState {
    return new StateReader(this.invocationContext.invocation.session.state);
  }
}
