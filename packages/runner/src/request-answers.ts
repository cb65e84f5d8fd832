import {
  askedCallId,
  type AuthCredential,
  type BaseCredentialService,
  ConfigurationError,
  type Event,
  type FunctionCall,
  type FunctionResponse,
  getFunctionResponses,
  InvalidMessageError,
  newestFirst,
  type Platform,
  REQUEST_CONFIRMATION,
  type SessionKey,
} from '@eventloom/core';

/** What answers are read with. */
export interface RequestAnswersParams {
  readonly events: readonly Event[];
  readonly platform: Platform;
  /** How long a question can be answered. */
  readonly requestTtlMs: number | undefined;
  readonly credentialService: BaseCredentialService | undefined;
}

type JsonRecord = Readonly<Record<string, unknown>>;

/** A credential that came with a message. */
interface Given {
  readonly credentialKey: string;
  readonly credential: AuthCredential;
}

/**
 * The answers of one message to what tools asked a person. Each is brought into the form in which it is stored, and credentials
 * are taken out of it, to be kept by the credential service once it is certain that the message is stored.
 */
export class RequestAnswers {
  readonly #params: RequestAnswersParams;
  readonly #before: RequestAnswers | undefined;
  readonly #given = new Map<string, Given | undefined>();

  /** @param before the answers of the message that this one takes the place of: credentials that it took out still count */
  constructor(params: RequestAnswersParams, before?: RequestAnswers) {
    this.#params = params;
    this.#before = before;
  }

  /**
   * The answer as it is stored; the response itself when its call is no question to a person.
   * @throws InvalidMessageError for a question that is over, a second answer to one, and an answer that is none
   * @throws ConfigurationError for a credential without a service to keep it
   */
  read(response: FunctionResponse, request: FunctionCall, asked: Event): FunctionResponse {
    const callId = askedCallId(request);
    if (callId === undefined) return response;
    const id = request.id ?? '';
    if (this.#given.has(id)) fail(id, 'is answered twice');
    if (this.#isOver(callId, asked)) fail(id, 'was answered already, and its tool call is over');
    const { platform, requestTtlMs } = this.#params;
    const isLate = requestTtlMs !== undefined && platform.now() > asked.timestamp * 1000 + requestTtlMs;
    const given = unwrapped(id, response.response ?? {});
    const answer =
      request.name === REQUEST_CONFIRMATION ? confirmationOf(id, given) : this.#take(id, request, given, isLate);
    if (!this.#given.has(id)) this.#given.set(id, undefined);
    return { id, name: request.name ?? '', response: { ...answer, ...(isLate ? { expired: true } : {}) } };
  }

  /** True for an answer to a question, once it was read. */
  has({ id = '' }: FunctionResponse): boolean {
    return this.#given.has(id);
  }

  /** A call that a person was asked about has a first response, which says that it waits, and in the end a second one. */
  #isOver(callId: string, asked: Event): boolean {
    let responses = 0;
    for (const event of newestFirst(this.#params.events)) {
      if (event === asked) break;
      for (const { id } of getFunctionResponses(event)) if (id === callId) responses++;
    }
    return responses > 1;
  }

  #take(id: string, { args }: FunctionCall, given: JsonRecord, isLate: boolean): JsonRecord {
    const { credentialService } = this.#params;
    if (!credentialService) {
      throw new ConfigurationError('newMessage: has a credential, and the runner has no credentialService to keep it');
    }
    if (isLate) return { provided: false };
    const taken = given['provided'] === true && this.#before ? this.#before.#given.get(id) : undefined;
    const credential = taken?.credential ?? credentialService.readAnswer(given);
    const { credentialKey } = (args?.['authConfig'] ?? {}) as { credentialKey?: unknown };
    if (!credential || typeof credentialKey !== 'string') return { provided: false };
    this.#given.set(id, { credentialKey, credential });
    return { provided: true };
  }

  /** Hands the credentials over to the service. */
  async keepCredentials({ appName, userId }: SessionKey): Promise<void> {
    for (const given of this.#given.values()) {
      if (given) await this.#params.credentialService?.saveCredential({ appName, userId, ...given });
    }
  }
}

/** Nothing of an answer is in the message of an error: it may be a secret. */
function fail(id: string, fault: string): never {
  throw new InvalidMessageError(`newMessage: the request ${JSON.stringify(id)} ${fault}`);
}

/** Clients of the ADK may send the answer as JSON text under `response`. */
function unwrapped(id: string, response: JsonRecord): JsonRecord {
  const text = response['response'];
  if (typeof text !== 'string' || Object.keys(response).length > 1) return response;
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonRecord;
  return fail(id, 'has an answer whose response is not the JSON of an object');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function confirmationOf(id: string, { confirmed, payload }: JsonRecord): JsonRecord {
  if (typeof confirmed !== 'boolean') fail(id, 'has an answer without confirmed, which must be true or false');
  return { confirmed, ...(payload === undefined || payload === null ? {} : { payload }) };
}
