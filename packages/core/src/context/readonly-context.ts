import type { Content } from '../content/content.ts';
import { type State, StateReader } from '../state/state.ts';
import type { InvocationContext } from './invocation-context.ts';

/** State that can be read but not written. */
export type ReadonlyState = Pick<State, 'get' | 'has' | 'toRecord'>;

/**
 * The context of an instruction function: the agent, the user, the session, and read access to its state.
 *
 * @example
 * const instruction = (context: ReadonlyContext): string => `Answer in ${context.state.get('language', 'English')}.`;
 */
export class ReadonlyContext {
  readonly invocationContext: InvocationContext;

  constructor(invocationContext: InvocationContext) {
    this.invocationContext = invocationContext;
  }

  get invocationId(): string {
    return this.invocationContext.invocationId;
  }

  get agentName(): string {
    return this.invocationContext.agent.name;
  }

  get appName(): string {
    return this.invocationContext.appName;
  }

  get userId(): string {
    return this.invocationContext.userId;
  }

  get sessionId(): string {
    return this.invocationContext.session.id;
  }

  /** The message that started the invocation; undefined for a run without one. */
  get userContent(): Content | undefined {
    return this.invocationContext.userContent;
  }

  /** The session's state as this invocation sees it, including writes that are not committed yet. */
  get state(): ReadonlyState {
    return new StateReader(this.invocationContext.invocation.session.state);
  }
}
