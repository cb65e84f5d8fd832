import { EventloomError } from './eventloom-error.ts';
import { toError } from './to-error.ts';

/** User code in an agent, callback or plugin threw something that is no Eventloom error; `cause` is what it threw. */
export class AgentError extends EventloomError {
  static override readonly code = 'AGENT';

  /**
   * Eventloom's own errors as they are, anything else as the cause of an AgentError with its message, which is for the program alone.
   * @param who failed, as clients and sessions are told: `agent "helper"`
   */
  static around(thrown: unknown, who: string): EventloomError {
    if (EventloomError.isInstance(thrown)) return thrown;
    const { message, name } = toError(thrown);
    const publicMessage = `${who} failed; the program that runs it was told why`;
    return new AgentError(message || name, { cause: thrown, publicMessage });
  }
}
