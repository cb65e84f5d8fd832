import { EventloomError } from '../errors.ts';

/** Thrown by a test case when a back end breaks the rule that the case tests. */
export class ConformanceError extends EventloomError {
  static override readonly code = 'CONFORMANCE';
  /** The id of the case, e.g. `append.duplicate-id`. */
  readonly rule: string;
  readonly expected: unknown;
  readonly got: unknown;

  constructor(rule: string, what: string, expected: unknown, got: unknown) {
    const cause = got instanceof Error ? { cause: got } : {};
    super(`${rule}: ${what}: expected ${show(expected)}, got ${show(got)}`, cause);
    this.rule = rule;
    this.expected = expected;
    this.got = got;
  }
}

const SHOWN_CHARACTERS = 300;

function show(value: unknown): string {
  if (value instanceof Error) return `${value.name} (${value.message})`;
  const text = JSON.stringify(value) ?? String(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
