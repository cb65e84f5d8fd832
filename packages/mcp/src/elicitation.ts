import {
  type CreateMessageRequestParams,
  type CreateMessageResult,
  type ElicitRequestParams,
  type ElicitResult,
  type InputRequiredResult,
  type InputResponses,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/client';
import type { MaybePromise, ToolContext, ToolRequest } from '@eventloom/core';
import { isRecord, isSameJson } from '@eventloom/core/internal';
import { MCPLimitError } from './errors.ts';
import { plainText } from './server-tools.ts';

/** Maximum number of questions in one call. */
const MAX_QUESTIONS = 16;
/** Maximum length of the text of a question, in characters. */
const MAX_MESSAGE = 4096;
/** Maximum number of fields of a form, and of choices of a field. */
const MAX_FIELDS = 64;
const MAX_CHOICES = 256;
/** Maximum length of the texts of a field, in characters. */
const MAX_TEXT = 1024;
/** Maximum length of an address that the person is asked to open, in characters. */
const MAX_URL = 4096;
/** Maximum length of the state that a server wants back with the answer, in characters. */
const MAX_STATE = 65_536;

/** A question that an MCP server asks the person during a call (elicitation). */
export interface MCPQuestion {
  /** Name of the toolset. */
  readonly server: string;
  readonly message: string;
  /** `form`: the answer has the fields of `requestedSchema`. `url`: the person should open `url`. */
  readonly mode: 'form' | 'url';
  readonly url?: string | undefined;
  /** JSON Schema of an object whose fields are strings, numbers, booleans and choices. */
  readonly requestedSchema?: Readonly<Record<string, unknown>> | undefined;
}

/** The answer to a question of a server. Fields with a default may be left out of `content`. */
export interface MCPAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Readonly<Record<string, unknown>> | undefined;
}

/** Answers a question without asking the person; undefined leaves it to the person. */
export type AnswerQuestion = (question: MCPQuestion, toolContext: ToolContext) => MaybePromise<MCPAnswer | undefined>;

/** The payload of a request for input that asks a server's question. It is stored in the session and reaches the client. */
interface QuestionPayload {
  /** Name of the toolset. */
  readonly server: string;
  readonly mode: 'form' | 'url';
  /** The address to open, for `url`. */
  readonly url?: string;
  /** Number of this round of questions in the call. */
  readonly round: number;
  /** Name of the question at the server, if the server continues the call with the answer. */
  readonly name?: string;
  /** State that the server wants back with the answer. */
  readonly requestState?: string;
}

/** A question as the person is asked it. */
interface ElicitedQuestion {
  readonly message: string;
  readonly payload: QuestionPayload;
  readonly responseSchema: Record<string, unknown>;
  /** Values of the fields that the person leaves out. */
  readonly defaults: Readonly<Record<string, FieldValue>>;
}

type FieldValue = string | number | boolean | string[];

/** Fields of a call that continue it. */
export interface CallContinuation {
  readonly inputResponses?: InputResponses;
  readonly requestState?: string;
}

type StoredQuestion = Extract<ToolRequest, { kind: 'input' }>;

/**
 * The questions that a server asks the person during one tool call. Each question becomes a request for input of the call, and the run
 * waits. When the tool runs again, also in another process, the answer is found by the question's text, form and address.
 */
export class Questions {
  readonly #server: string;
  readonly #context: ToolContext;
  readonly #onElicitation: AnswerQuestion | undefined;
  /** Questions from earlier runs of the call that the server has not asked again in this run. */
  readonly #stored: StoredQuestion[];
  readonly #asked: number;
  readonly #round: number;
  /** Questions without an answer. */
  readonly #open: ElicitedQuestion[] = [];

  constructor(server: string, context: ToolContext, onElicitation: AnswerQuestion | undefined) {
    this.#server = server;
    this.#onElicitation = onElicitation;
    this.#context = context;
    this.#stored = context.requests.flatMap((request) =>
      request.kind === 'input' && isQuestion(request.payload) ? [request] : [],
    );
    this.#asked = this.#stored.length;
    this.#round = Math.max(-1, ...this.#stored.map(({ payload }) => (isQuestion(payload) ? payload.round : -1))) + 1;
  }

  get areOpen(): boolean {
    return this.#open.length > 0;
  }

  /**
   * Returns the data with which the server continues the call, if its last question had some; undefined if the call starts from the
   * beginning.
   */
  continuation(): CallContinuation | undefined {
    const last = this.#stored.filter(({ payload }) => isQuestion(payload) && payload.round === this.#round - 1);
    const inputResponses: InputResponses = {};
    let requestState: string | undefined;
    for (const { key, payload, responseSchema } of last) {
      const given = this.#context.getInput(key);
      if (!isQuestion(payload) || payload.name === undefined || given === undefined) return undefined;
      inputResponses[payload.name] = toResult(given, defaultsIn(responseSchema));
      requestState = payload.requestState;
    }
    if (last.length === 0) return undefined;
    return { inputResponses, ...(requestState !== undefined && { requestState }) };
  }

  /**
   * Returns the answer of the application or the person to a question; undefined if there is none yet, and `ask` will ask it.
   * @throws ProtocolError, which the server gets, for a question that cannot be asked
   */
  async answerTo(
    params: ElicitRequestParams,
    at: { readonly name?: string; readonly requestState?: string } = {},
  ): Promise<ElicitResult | undefined> {
    const question = this.#toQuestion(params, at);
    const own = await this.#onElicitation?.(toPublic(question), this.#context);
    if (own) return toResult(own, question.defaults);
    const known = this.#stored.findIndex((stored) => isSameQuestion(stored, question));
    const [stored] = known === -1 ? [] : this.#stored.splice(known, 1);
    const given = stored && this.#context.getInput(stored.key);
    if (given !== undefined) return toResult(given, question.defaults);
    if (this.#asked + this.#open.length >= MAX_QUESTIONS)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `at most ${MAX_QUESTIONS} questions a call are asked`);
    // The server asks again during a call that was sent again because its connection broke.
    if (!this.#open.some((open) => isSameQuestion({ kind: 'input', key: '', ...open }, question)))
      this.#open.push(question);
    return undefined;
  }

  /** Returns the answers that a server requires; undefined if a person has to be asked, which `ask` does. */
  async answersTo(
    { inputRequests = {}, requestState }: InputRequiredResult,
    sample: (params: CreateMessageRequestParams) => Promise<CreateMessageResult>,
  ): Promise<CallContinuation | undefined> {
    if (requestState !== undefined && requestState.length > MAX_STATE)
      throw new MCPLimitError(
        `the server sent a requestState of ${requestState.length} characters; at most ${MAX_STATE} are accepted`,
      );
    const requests = Object.entries(inputRequests);
    const questions = requests.filter(([, { method }]) => method === 'elicitation/create');
    // A call that also needs the model starts from the beginning after the answer, because replies of models are not stored.
    const isPure = questions.length === requests.length;
    const inputResponses: InputResponses = {};
    for (const [name, request] of questions) {
      if (request.method !== 'elicitation/create') continue;
      const at = isPure ? { name, ...(requestState !== undefined && { requestState }) } : {};
      const answer = await this.answerTo(request.params, at);
      if (answer) inputResponses[name] = answer;
    }
    if (this.areOpen) return undefined;
    for (const [name, request] of requests) {
      if (request.method === 'elicitation/create') continue;
      if (request.method !== 'sampling/createMessage')
        throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `${request.method} is not supported`);
      inputResponses[name] = await sample(request.params);
    }
    return {
      ...(requests.length > 0 && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    };
  }

  /** Asks the person the open questions. The tool then returns, and runs again after the answers. */
  ask(): void {
    this.#open.forEach(({ message, payload, responseSchema }, index) =>
      this.#context.requestInput({ key: `mcp-${this.#asked + index + 1}`, message, payload, responseSchema }),
    );
  }

  #toQuestion(
    params: ElicitRequestParams,
    at: { readonly name?: string; readonly requestState?: string },
  ): ElicitedQuestion {
    const message = plainText(params.message, MAX_MESSAGE);
    const payload = { server: this.#server, round: this.#round, ...at };
    if (params.mode === 'url') {
      const url = toAddress(params.url);
      return { message, payload: { ...payload, mode: 'url', url }, responseSchema: answerSchema(), defaults: {} };
    }
    const form = toForm(params.requestedSchema);
    const responseSchema = answerSchema(form);
    return { message, payload: { ...payload, mode: 'form' }, responseSchema, defaults: defaultsIn(responseSchema) };
  }
}

function toPublic({ message, payload: { server, mode, url }, responseSchema }: ElicitedQuestion): MCPQuestion {
  const schema = at(at(responseSchema, 'properties'))['content'];
  return { server, message, mode, url, ...(isRecord(schema) && { requestedSchema: schema }) };
}

function isQuestion(payload: unknown): payload is QuestionPayload {
  return isRecord(payload) && typeof payload['server'] === 'string' && typeof payload['round'] === 'number';
}

function isSameQuestion(stored: StoredQuestion, { message, payload, responseSchema }: ElicitedQuestion): boolean {
  if (!isQuestion(stored.payload) || stored.payload.server !== payload.server) return false;
  return (
    stored.message === message &&
    stored.payload.url === payload.url &&
    isSameJson(stored.responseSchema, responseSchema)
  );
}

/** Returns the schema of a person's answer, which is a result of `elicitation/create`. */
function answerSchema(content?: object): Record<string, unknown> {
  const action = { type: 'string', enum: ['accept', 'decline', 'cancel'] };
  return { type: 'object', properties: content ? { action, content } : { action }, required: ['action'] };
}

/** Returns the defaults in the schema of an answer, by the names of their fields. */
function defaultsIn(responseSchema: unknown): Readonly<Record<string, FieldValue>> {
  const properties = at(at(at(at(responseSchema, 'properties'), 'content'), 'properties'));
  const defaults: Record<string, FieldValue> = {};
  for (const [name, field] of Object.entries(properties)) {
    const value = at(field)['default'];
    if (isFieldValue(value)) defaults[name] = value;
  }
  return defaults;
}

function at(value: unknown, key?: string): Readonly<Record<string, unknown>> {
  const inner = key === undefined || !isRecord(value) ? value : value[key];
  return isRecord(inner) ? inner : {};
}

function isFieldValue(value: unknown): value is FieldValue {
  if (Array.isArray(value)) return value.length <= MAX_CHOICES && value.every((each) => typeof each === 'string');
  if (typeof value === 'string') return value.length <= MAX_TEXT;
  return typeof value === 'number' || typeof value === 'boolean';
}

/** Converts a person's answer, which matches the schema of the question. */
function toResult(given: unknown, defaults: Readonly<Record<string, FieldValue>>): ElicitResult {
  const { action, content } = at(given);
  if (action !== 'accept') return { action: action === 'decline' ? 'decline' : 'cancel' };
  const fields: Record<string, FieldValue> = { ...defaults };
  for (const [name, value] of Object.entries(at(content))) if (isFieldValue(value)) fields[name] = value;
  return { action, content: fields };
}

/**
 * Returns the form with only what the protocol allows: strings, numbers, booleans and choices, within limits. Fields with a default become
 * optional. Patterns are left out, because matching them could take unlimited time.
 */
function toForm(schema: unknown): object {
  const { properties, required } = at(schema);
  const fields = Object.entries(at(properties));
  if (fields.length > MAX_FIELDS) throw unaskable(`has more than ${MAX_FIELDS} fields`);
  const form = Object.fromEntries(fields.map(([name, field]) => [name, toField(name, at(field))]));
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  const isOpen = (name: string): boolean => name in form && at(form[name])['default'] === undefined;
  return { type: 'object', properties: form, required: names.slice(0, MAX_FIELDS).filter(isOpen) };
}

const FIELD_TYPES = ['string', 'number', 'integer', 'boolean', 'array'];
const NUMBERS = ['minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems'];

function toField(name: string, field: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { type } = field;
  if (name.length > MAX_TEXT || typeof type !== 'string' || !FIELD_TYPES.includes(type))
    throw unaskable(
      `has a field that is not a string, a number, a boolean or a choice: ${JSON.stringify(name.slice(0, 64))}`,
    );
  const kept: Record<string, unknown> = { type, ...texts(field, ['title', 'description', 'format']) };
  for (const key of NUMBERS) if (typeof field[key] === 'number') kept[key] = field[key];
  Object.assign(kept, choices(field));
  if (type === 'array') kept['items'] = choices(at(field, 'items'));
  if (isFieldValue(field['default'])) kept['default'] = field['default'];
  return kept;
}

/** Returns the choices of a field: `enum`, `enumNames`, and `oneOf` or `anyOf` of constants with titles. */
function choices(field: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const key of ['enum', 'enumNames', 'oneOf', 'anyOf']) {
    const list = field[key];
    if (!Array.isArray(list)) continue;
    if (list.length > MAX_CHOICES) throw unaskable(`has a field with more than ${MAX_CHOICES} choices`);
    kept[key] = list.map((each: unknown) =>
      typeof each === 'string' ? plainText(each, MAX_TEXT) : texts(at(each), ['const', 'title']),
    );
  }
  return kept;
}

function texts(source: Readonly<Record<string, unknown>>, keys: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const key of keys) {
    const value = source[key];
    if (typeof value === 'string') found[key] = plainText(value, MAX_TEXT);
  }
  return found;
}

function toAddress(url: string): string {
  const parsed = url.length <= MAX_URL && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'https:' || parsed?.protocol === 'http:') return parsed.href;
  throw unaskable('has an address that is not HTTP');
}

function unaskable(reason: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `the question ${reason}`);
}
