import {
  contentText,
  decodeBase64,
  type InvocationContext,
  MissingStateKeyError,
  type Part,
  type ReadonlyContext,
} from '@eventloom/core';
import { getOwn, sessionKeyOf } from '@eventloom/core/internal';

/** Text without braces, and all the braces around it. A match begins at the first brace of a run, which keeps the search linear. */
const PLACEHOLDER = /(?<!\{)(\{+)([^{}]*)(\}+)/g;
/** Identifiers joined by dots behind an optional scope. */
const STATE_KEY =
  /^(?:app:|user:|temp:)?[\p{ID_Start}_$][\p{ID_Continue}$]*(?:\.[\p{ID_Start}_$][\p{ID_Continue}$]*)*$/u;
const ARTIFACT = /^artifact\.((?:user:)?[\p{L}\p{N}_.\-/]+)$/u;

/**
 * Fills state and artifacts into an instruction: `{key}`, `{user:key}`, `{app:key}`, `{temp:key}`, `{artifact.name}`; with `?` at
 * the end what is missing becomes empty. A key with dots is looked up as it is first, then as a path into an object. Null is
 * empty, text is itself, anything else is JSON. `{{key}}` is the same as `{key}`. Whatever else stands in braces stays as it is,
 * also a key with spaces or with more braces in front: `{ key }`, `{{{key}}}`, `{{key}`.
 *
 * An agent's instruction text is filled by itself; an instruction function fills its own by calling this.
 *
 * @throws MissingStateKeyError for a key or artifact that is not there and not optional
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
    if (surplus < 0 || opening.length > 2) continue;
    // What closes more than the placeholder closes something around it: JSON, say.
    const placeholder = whole.slice(0, whole.length - surplus);
    text += template.slice(end, match.index) + (await fill(placeholder, inner, context));
    end = match.index + placeholder.length;
  }
  return text + template.slice(end);
}

async function fill(placeholder: string, inner: string, context: InvocationContext): Promise<string> {
  const optional = inner.endsWith('?');
  const name = optional ? inner.slice(0, -1) : inner;
  const artifact = ARTIFACT.exec(name)?.[1];
  if (artifact !== undefined) return fillArtifact(artifact, optional, context);
  if (!STATE_KEY.test(name)) return placeholder;
  const value = lookUp(context.session.state, name);
  if (value !== undefined) return stateText(value);
  if (optional) return '';
  throw missing(name, 'state does not have', context);
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
    `the instruction of agent "${agent.name}" names {${name}}, which ${why}; write {${name}?} to leave it out`,
  );
}

function artifactText(part: Part): string {
  const data = part.inlineData?.data;
  return data === undefined ? contentText({ parts: [part] }) : new TextDecoder().decode(decodeBase64(data));
}

/** The exact key, or the longest key that is there with the rest as a path into its value. */
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
