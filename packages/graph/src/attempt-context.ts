import {
  CallbackContext,
  createEventActions,
  type EventActions,
  type InvocationContext,
  type Part,
  State,
  ToolContext,
  type ToolContextParams,
} from '@eventloom/core';

/** Throws if the attempt has ended. */
type EndedCheck = () => void;

/** The context of a node's function during one attempt. Writes are rejected once the attempt has ended. */
export class AttemptCallbackContext extends CallbackContext {
  readonly #check: EndedCheck;

  constructor(invocationContext: InvocationContext, check: EndedCheck) {
    super({ invocationContext, ...writtenWhile(invocationContext, check) });
    this.#check = check;
  }

  override async saveArtifact(filename: string, artifact: Part): Promise<number> {
    this.#check();
    return super.saveArtifact(filename, artifact);
  }
}

/** The context of a node's tool during one attempt. Writes are rejected once the attempt has ended. */
export class AttemptToolContext extends ToolContext {
  readonly #check: EndedCheck;

  constructor(params: Omit<ToolContextParams, 'eventActions' | 'state'>, check: EndedCheck) {
    super({ ...params, ...writtenWhile(params.invocationContext, check) });
    this.#check = check;
  }

  override async saveArtifact(filename: string, artifact: Part): Promise<number> {
    this.#check();
    return super.saveArtifact(filename, artifact);
  }
}

function writtenWhile(
  { invocation: { session } }: InvocationContext,
  check: EndedCheck,
): { eventActions: EventActions; state: State } {
  const eventActions = createEventActions();
  return { eventActions, state: new AttemptState(session.state, eventActions, check) };
}

class AttemptState extends State {
  readonly #check: EndedCheck;

  constructor(view: Record<string, unknown>, actions: EventActions, check: EndedCheck) {
    super(view, actions);
    this.#check = check;
  }

  override set(key: string, value: unknown): void {
    this.#check();
    super.set(key, value);
  }

  override remove(key: string): void {
    this.#check();
    super.remove(key);
  }
}
