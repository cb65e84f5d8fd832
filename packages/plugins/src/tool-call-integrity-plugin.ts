import {
  BasePlugin,
  type BaseTool,
  ConfigurationError,
  type Event,
  type FunctionCall,
  getFunctionCalls,
  type InvocationContext,
  type Session,
  type ToolContext,
} from '@eventloom/core';
import { checkOptions, isRecord, isSameJson, type OptionRules } from '@eventloom/core/internal';
import { ToolCallIntegrityError } from './errors.ts';

/** Options of `ToolCallIntegrityPlugin`. */
export interface ToolCallIntegrityPluginOptions {
  /**
   * The key, as bytes or text of at least 16 bytes, or a list of keys: the first one creates stamps, all of them verify. To change the key,
   * write `[newKey, oldKey]` until the sessions with the old stamps have ended.
   */
  readonly secretKey: string | Uint8Array | readonly (string | Uint8Array)[];
  /**
   * True lets calls without a stamp run, such as those of sessions older than the plugin. A changed call whose stamp was removed then runs
   * as well. Default false.
   */
  readonly allowUnstampedCalls?: boolean | undefined;
  /** Name of the plugin. Default `tool_call_integrity`. */
  readonly name?: string | undefined;
}

const KEYS = 'a key of at least 16 bytes, or a list of such keys';
const WRITE_KEY = 'crypto.getRandomValues(new Uint8Array(32)), and keep it';
const OPTIONS: OptionRules<ToolCallIntegrityPluginOptions> = {
  secretKey: { is: 'text or object or list', wanted: KEYS, write: WRITE_KEY },
  allowUnstampedCalls: 'flag',
  name: 'text',
};
const MIN_BYTES = 16;
/** The key of `customMetadata` with the stamps of an event, by call id. */
const STAMPS = '__adk_internal_fc_hmac';
/** The key of `customMetadata` that marks an event as copied from another session. */
const RESTORED = '__adk_internal_restored';
/** The version of the signed text, which each stamp begins with. */
const VERSION = 'v1:';

/**
 * Stamps every function call with a signature (HMAC-SHA-256) when its event is stored, and runs a tool only if the stored call has a valid
 * stamp and the same name and arguments. This prevents a person who can write to the session store, but does not have the key, from
 * changing calls, for example between a confirmation and the call.
 *
 * At the beginning of a run all stored calls are verified. An invalid call fails the run with ToolCallIntegrityError. Put this plugin first
 * in the list: a later plugin must not change calls or their arguments.
 *
 * @example
 * const secretKey = crypto.getRandomValues(new Uint8Array(32)); // the same for all processes
 * const plugins = [new ToolCallIntegrityPlugin({ secretKey })];
 */
export class ToolCallIntegrityPlugin extends BasePlugin {
  readonly #keys: Promise<CryptoKey[]>;
  readonly #allowUnstampedCalls: boolean;
  /** Events that were verified, so that the next run of the same session does not verify them again. */
  readonly #verified = new WeakSet<Event>();

  /** @throws ConfigurationError for a key that is missing or too short, and an unknown option */
  constructor(options: ToolCallIntegrityPluginOptions) {
    checkOptions('ToolCallIntegrityPlugin', OPTIONS, options);
    super(options.name ?? 'tool_call_integrity');
    this.#keys = Promise.all(toKeys(options.secretKey).map(importKey));
    this.#allowUnstampedCalls = options.allowUnstampedCalls ?? false;
  }

  /**
   * Returns a copy of an event for another session, without stamps. The copy is marked, so that it is not verified there, and its calls
   * never run.
   */
  static prepareRestoredEvent(event: Event): Event {
    const { [STAMPS]: _, ...metadata } = event.customMetadata ?? {};
    return { ...event, customMetadata: { ...metadata, [RESTORED]: true } };
  }

  override async onEventCallback({
    invocationContext: { session },
    event,
  }: {
    invocationContext: InvocationContext;
    event: Event;
  }): Promise<Event | undefined> {
    // Chunks are not stored.
    if (event.partial === true) return undefined;
    const calls = callsOf(event);
    if (calls.size === 0) return undefined;
    const stamps: Record<string, string> = {};
    for (const [id, call] of calls) stamps[id] = await this.#sign(session, event, call);
    return { ...event, customMetadata: { ...event.customMetadata, [STAMPS]: stamps } };
  }

  override async beforeRunCallback({
    invocationContext: { session },
  }: {
    invocationContext: InvocationContext;
  }): Promise<undefined> {
    for (const event of session.events) {
      if (this.#verified.has(event) || isRestored(event)) continue;
      await this.#verifyEvent(session, event);
      this.#verified.add(event);
    }
  }

  override async beforeToolCallback({
    tool,
    toolArgs,
    toolContext: { functionCallId: id, invocationContext },
  }: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: ToolContext;
  }): Promise<undefined> {
    const { session } = invocationContext;
    const subject = `call "${id}" of ${tool.name}`;
    const copies = session.events.filter((event) => callsOf(event).has(id));
    const own = copies.filter((event) => !isRestored(event));
    if (own.length === 0 && copies.length > 0)
      throw new ToolCallIntegrityError(`${subject}: was copied from another session and does not run`);
    if (own.length === 0) this.#refuseUnstamped(subject);
    let matches = own.length === 0;
    for (const event of own) {
      const call = callsOf(event).get(id) ?? {};
      const stamp = stampsOf(event)[id];
      if (stamp === undefined) this.#refuseUnstamped(subject);
      else if (!(await this.#isRight(session, event, call, stamp)))
        throw new ToolCallIntegrityError(`${subject}: does not match its integrity stamp`);
      matches ||= call.name === tool.name && isSameJson(call.args ?? {}, toolArgs);
    }
    if (!matches)
      throw new ToolCallIntegrityError(`${subject}: its name or arguments differ from those of the stored call`);
  }

  async #verifyEvent(session: Session, event: Event): Promise<void> {
    const stamps = stampsOf(event);
    const calls = callsOf(event);
    for (const [id, call] of calls) {
      const subject = `event ${event.id}: call "${id}" of ${call.name}`;
      const stamp = stamps[id];
      if (stamp === undefined) this.#refuseUnstamped(subject);
      else if (!(await this.#isRight(session, event, call, stamp)))
        throw new ToolCallIntegrityError(`${subject}: does not match its integrity stamp`);
    }
    const orphan = Object.keys(stamps).find((id) => !calls.has(id));
    // A renamed or removed call leaves its stamp behind.
    if (orphan !== undefined)
      throw new ToolCallIntegrityError(`event ${event.id}: has a stamp for a call "${orphan}" that does not exist`);
  }

  #refuseUnstamped(subject: string): void {
    if (!this.#allowUnstampedCalls)
      throw new ToolCallIntegrityError(
        `${subject}: has no integrity stamp; for sessions that are older than the plugin, write allowUnstampedCalls: true`,
      );
  }

  async #sign(session: Session, event: Event, call: FunctionCall): Promise<string> {
    const [key] = await this.#keys;
    if (!key)
      throw new ConfigurationError(`ToolCallIntegrityPlugin: secretKey is missing; write secretKey: ${WRITE_KEY}`);
    const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, signedText(session, event, call)));
    return VERSION + Array.from(signature, (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  async #isRight(session: Session, event: Event, call: FunctionCall, stamp: string): Promise<boolean> {
    const signature = signatureOf(stamp);
    if (!signature) return false;
    const text = signedText(session, event, call);
    for (const key of await this.#keys) if (await crypto.subtle.verify('HMAC', key, signature, text)) return true;
    return false;
  }
}

/** Returns the calls of an event by their ids. @throws ToolCallIntegrityError for two calls with one id */
function callsOf(event: Event): Map<string, FunctionCall> {
  const calls = new Map<string, FunctionCall>();
  for (const call of getFunctionCalls(event)) {
    if (call.id === undefined || call.id === '') continue;
    if (calls.has(call.id))
      throw new ToolCallIntegrityError(`event ${event.id}: has two calls with the id "${call.id}"`);
    calls.set(call.id, call);
  }
  return calls;
}

/** @throws ToolCallIntegrityError for stamps that are not strings */
function stampsOf({ id, customMetadata }: Event): Readonly<Record<string, string>> {
  const stamps = customMetadata?.[STAMPS];
  if (stamps === undefined) return {};
  if (isRecord(stamps) && Object.values(stamps).every((stamp) => typeof stamp === 'string'))
    return stamps as Record<string, string>;
  throw new ToolCallIntegrityError(`event ${id}: its integrity stamps are malformed`);
}

function isRestored({ customMetadata }: Event): boolean {
  return customMetadata?.[RESTORED] === true;
}

function signatureOf(stamp: string): Uint8Array<ArrayBuffer> | undefined {
  const digits = stamp.startsWith(VERSION) ? stamp.slice(VERSION.length) : '';
  if (!/^[\da-f]{64}$/.test(digits)) return undefined;
  return Uint8Array.from({ length: 32 }, (_, index) => Number.parseInt(digits.slice(2 * index, 2 * index + 2), 16));
}

/** Returns the signed text: the session, the position of the event in it, and the call. adk-python signs the same text. */
function signedText(session: Session, event: Event, call: FunctionCall): Uint8Array<ArrayBuffer> {
  const text = canonicalJson({
    app_name: session.appName,
    user_id: session.userId,
    session_id: session.id,
    invocation_id: event.invocationId,
    branch: event.branch ?? null,
    author: event.author,
    name: call.name ?? null,
    id: call.id ?? null,
    args: call.args ?? {},
  });
  return new TextEncoder().encode(text);
}

/** Writes JSON with sorted keys and no white space. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  const members = entries
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`);
  return `{${members.join(',')}}`;
}

/** @throws ConfigurationError that does not quote the keys */
function toKeys(secretKey: ToolCallIntegrityPluginOptions['secretKey']): Uint8Array<ArrayBuffer>[] {
  const given: readonly unknown[] = Array.isArray(secretKey) ? secretKey : [secretKey];
  const keys = given.flatMap((key) => {
    if (typeof key === 'string') return [new TextEncoder().encode(key)];
    return key instanceof Uint8Array ? [Uint8Array.from(key)] : [];
  });
  if (keys.length > 0 && keys.length === given.length && keys.every((key) => key.length >= MIN_BYTES)) return keys;
  throw new ConfigurationError(
    `ToolCallIntegrityPlugin: secretKey: expected ${KEYS}, got a shorter one; write secretKey: ${WRITE_KEY}`,
  );
}

function importKey(key: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
}
