import { type Event, type EventActions, setOwn, State } from '@eventloom/core';

/**
 * The session's state as one run of a node sees it: as its step found it, with what the run itself changed, and what it runs. What others of
 * the step change does not show.
 */
export class SessionView {
  readonly #session: Record<string, unknown>;
  /** Undefined where nobody else changes the session: then it is read itself. */
  readonly #own: Record<string, unknown> | undefined;
  readonly #parent: SessionView | undefined;

  /**
   * @param session the session's state
   * @param found what the run finds; undefined when nobody else changes the session meanwhile
   * @param parent of the run that started this one
   */
  constructor(
    session: Record<string, unknown>,
    found: Readonly<Record<string, unknown>> | undefined,
    parent?: SessionView,
  ) {
    this.#session = session;
    this.#own = found && { ...found };
    this.#parent = parent;
  }

  /** The view of a run that this one starts now. */
  begin(): SessionView {
    return new SessionView(this.#session, this.#own ?? this.#session, this);
  }

  /** Reads and writes it. What is written shows in the session at once too, to the agents that the run starts. */
  stateFor(actions: EventActions): State {
    return this.#own ? new ViewedState(this.#own, this.#session, actions) : new State(this.#session, actions);
  }

  /** Takes over what an event of the run changed. */
  note(event: Event): void {
    if (event.partial === true) return;
    this.#parent?.note(event);
    if (!this.#own) return;
    const { stateDelta, removedState = [] } = event.actions;
    for (const [key, value] of Object.entries(stateDelta)) setOwn(this.#own, key, value);
    for (const key of removedState) delete this.#own[key];
  }
}

class ViewedState extends State {
  readonly #view: Readonly<Record<string, unknown>>;
  readonly #session: Record<string, unknown>;

  constructor(view: Record<string, unknown>, session: Record<string, unknown>, actions: EventActions) {
    super(view, actions);
    this.#view = view;
    this.#session = session;
  }

  override set(key: string, value: unknown): void {
    super.set(key, value);
    setOwn(this.#session, key, this.#view[key]);
  }

  override remove(key: string): void {
    super.remove(key);
    delete this.#session[key];
  }
}
