import {
  ConfigurationError,
  contentText,
  decodeBase64,
  type InvocationContext,
  MissingStateKeyError,
  type Part,
  type ReadonlyContext,
} from '@eventloom/core';
import { describeKind, getOwn, sessionKeyOf } from '@eventloom/core/internal';
import type { InstructionProvider } from './llm-agent-config.ts';

/** Text without braces, with all the braces around it. A match begins at the first brace of a run, which keeps the search linear. */
const PLACEHOLDER = /(?<!\{)(\{+)([^{}]*)(\}+)/g;
/** Identifiers joined by dots, after an optional scope. */
const STATE_KEY =
  /^(?:app:|user:|temp:)?[\p{ID_Start}_$][\p{ID_Continue}$]*(?:\.[\p{ID_Start}_$][\p{ID_Continue}$]*)*$/u;
/** A name that is a key in the ADK too, which throws if the state has no such key. Other text may mean itself: `/users/{user.id}`. */
const ADK_KEY = /^[\w:]+$/;
const ARTIFACT = /^artifact\.((?:user:)?[\p{L}\p{N}_.\-/]+)$/u;

/**
 * Fills placeholders in an instruction with state values and artifacts: `{key}`, `{user:key}`, `{app:key}`,
 * `{temp:key}`, `{artifact.name}`.
 *
 * - A `?` at the end, as in `{key?}`, makes the placeholder optional: a missing value becomes an empty string.
 * - A name with dots is looked up as a whole key first, then as a path into an object.
 * - A name with dots, `$` or letters beyond ASCII is left unchanged if state has no value for it: `/users/{user.id}`.
 * - A string is inserted unchanged, null as an empty string, any other value as JSON.
 * - `{ key }` and `{{key}}` are the same as `{key}`. Other text in braces is left unchanged: `{a b}`, `{bad-name}`, `{{key}`.
 *
 * The agent fills an instruction string itself. An instruction function must call this function to fill its text.
 *
 * @throws MissingStateKeyError if a key of ASCII letters, digits and `_`, or an artifact, does not exist and is not optional
 *
 * @example
 * const instruction: InstructionProvider = (context) => injectSessionState('Greet {user:name}.', context);
 */
export async function injectSessionState(
  template: string,
  readonlyContext: ReadonlyContext | InvocationContext,
): Promise<string> {
  if (!template.includes('{')) return template;
  const context = 'invocationContext' in readonlyContext ? readonlyContext.invocationContext : readonlyContext;
  let text = '';
  let end = 0;
  for (const match of template.matchAll(PLACEHOLDER)) {
    const [whole, opening = '', inner = '', closing = ''] = match;
    const surplus = closing.length - opening.length;
    if (surplus < 0) continue;
    // Surplus closing braces belong to the surrounding text, such as JSON.
    const placeholder = whole.slice(0, whole.length - surplus);
    text += template.slice(end, match.index) + (await fill(placeholder, inner, context));
    end = match.index + placeholder.length;
  }
  return text + template.slice(end);
}

/**
 * Returns the text of an instruction: the result of a function unchanged, a string with its placeholders filled.
 * @param place starts the message of an error, e.g. `agent "helper": instruction`
 * @throws ConfigurationError for a function whose result is not a string
 */
export async function resolveInstruction(
  place: string,
  instruction: string | InstructionProvider,
  context: ReadonlyContext,
): Promise<string> {
  if (typeof instruction !== 'function') return injectSessionState(instruction, context);
  const text: unknown = await instruction(context);
  if (typeof text === 'string') return text;
  throw new ConfigurationError(
    `${place}: expected a string as the result of the function, got ${describeKind(text)}; write return 'Answer in one sentence.'`,
  );
}

async function fill(written: string, inner: string, context: InvocationContext): Promise<string> {
  const trimmed = inner.trim();
  const optional = trimmed.endsWith('?');
  const name = optional ? trimmed.slice(0, -1) : trimmed;
  const artifact = ARTIFACT.exec(name)?.[1];
  if (artifact !== undefined) return fillArtifact(artifact, optional, context);
  if (!STATE_KEY.test(name)) return written;
  const value = lookUp(context.session.state, name);
  if (value !== undefined) return stateText(value);
  if (optional) return '';
  if (ADK_KEY.test(name)) throw missing(name, 'is not in the session state', context);
  return written;
}

async function fillArtifact(filename: string, optional: boolean, context: InvocationContext): Promise<string> {
  const part = await context.artifactService?.loadArtifact({ ...sessionKeyOf(context.session), filename });
  if (part) return artifactText(part);
  if (optional) return '';
  throw missing(
    `artifact.${filename}`,
    context.artifactService ? 'does not exist' : 'needs an artifactService',
    context,
  );
}

function missing(name: string, why: string, { agent }: InvocationContext): MissingStateKeyError {
  return new MissingStateKeyError(
    `the instruction of agent "${agent.name}" uses {${name}}, which ${why}; write {${name}?} to make it optional`,
  );
}

function artifactText(part: Part): string {
  const data = part.inlineData?.data;
  return data === undefined ? contentText({ parts: [part] }) : new TextDecoder().decode(decodeBase64(data));
}

/** Returns the value of the whole key, or of the longest existing key with the rest as a path into its value. */
function lookUp(state: Readonly<Record<string, unknown>>, name: string): unknown {
  for (let end = name.length; end > 0; end = name.lastIndexOf('.', end - 1)) {
    const value = getOwn(state, name.slice(0, end));
    if (value === undefined) continue;
    const path = end === name.length ? [] : name.slice(end + 1).split('.');
    const found = path.reduce<unknown>(
      (at, key) => (typeof at === 'object' && at !== null ? getOwn(at as Record<string, unknown>, key) : undefined),
      value,
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

function stateText(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
