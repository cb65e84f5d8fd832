/** The key of one kind of values that are derived from the events of a session: see `DerivedValues`. */
export class DerivedKey<Value> {
  readonly name: string;
  /** Only a type: the values of this kind. */
  declare readonly value?: Value;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Values that were derived from the events of a session, so that a turn reads only the events that are new. They are
 * kept with the events, also between runs, and dropped with them. A sub-invocation, which sees other events, has its
 * own.
 */
export interface DerivedValues {
  get<Value>(key: DerivedKey<Value>): Value | undefined;
  set<Value>(key: DerivedKey<Value>, value: Value): unknown;
}
