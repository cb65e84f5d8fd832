import {
  askedCallId,
  type AuthCredential,
  type BaseCredentialService,
  ConfigurationError,
  type Event,
  type FunctionCall,
  type FunctionResponse,
  getFunctionResponses,
  inputRequestOf,
  isPersonRequest,
  type Platform,
  REQUEST_CONFIRMATION,
  type SessionKey,
} from '@eventloom/core';
import { readInput } from './read-input.ts';
import { failAnswer, unwrappedAnswer } from './unwrapped-answer.ts';

/** What answers are read with. */
export interface RequestAnswersParams {
  /** The newest first. */
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
 * are taken out of it, to be kept by the credential service right before the message is stored: whoever goes on with the stored answer
 * finds them. A message that cannot be stored then leaves them kept.
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
  read(response: FunctionResponse, request: FunctionCall, asked: Event): FunctionResponse | Promise<FunctionResponse> {
    if (!isPersonRequest(request)) return response;
    const id = request.id ?? '';
    if (this.#given.has(id)) failAnswer(id, 'is answered twice');
    const callId = askedCallId(request);
    if (callId === undefined ? this.#isHeard(id, asked) : this.#isOver(callId, asked))
      failAnswer(id, callId === undefined ? 'was answered already' : 'was answered already, and its tool call is over');
    const { platform, requestTtlMs } = this.#params;
    const isLate = requestTtlMs !== undefined && platform.now() > asked.timestamp * 1000 + requestTtlMs;
    const stored = (answer: JsonRecord): FunctionResponse => ({
      id,
      name: request.name ?? '',
      response: { ...answer, ...(isLate ? { expired: true } : {}) },
    });
    const input = inputRequestOf(request);
    // What came too late need not be right.
    if (input) this.#given.set(id, undefined);
    if (input) return isLate ? stored({}) : readInput(input, response.response ?? {}, id).then(stored);
    const given = unwrappedAnswer(id, response.response ?? {});
    const answer =
      request.name === REQUEST_CONFIRMATION ? confirmationOf(id, given) : this.#take(id, request, given, isLate);
    if (!this.#given.has(id)) this.#given.set(id, undefined);
    return stored(answer);
  }

  /** True for an answer to a question, once it was read. */
  has({ id = '' }: FunctionResponse): boolean {
    return this.#given.has(id);
  }

  /** A call that a person was asked about has a first response, which says that it waits, and in the end a second one. */
  #isOver(callId: string, asked: Event): boolean {
    let responses = 0;
    for (const event of this.#since(asked))
      for (const { id } of getFunctionResponses(event)) if (id === callId) responses++;
    return responses > 1;
  }

  /** True when the agent that asked went on after an answer. One that did not, because its run was cut off, may be told again. */
  #isHeard(id: string, asked: Event): boolean {
    let isSaid = false;
    for (const event of this.#since(asked)) {
      if (isSaid && getFunctionResponses(event).some((response) => response.id === id)) return true;
      isSaid ||= event.author === asked.author;
    }
    return false;
  }

  /** What was said after a question, the newest first. Calls on other branches may have the same ids. */
  #since(asked: Event): Event[] {
    const { events } = this.#params;
    return events.slice(0, events.indexOf(asked)).filter(({ branch }) => branch === asked.branch);
  }

  #take(id: string, { args }: FunctionCall, given: JsonRecord, isLate: boolean): JsonRecord {
    const { credentialService } = this.#params;
    if (!credentialService) {
      throw new ConfigurationError('newMessage: has a credential: the runner has no credentialService');
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

function confirmationOf(id: string, { confirmed, payload }: JsonRecord): JsonRecord {
  if (typeof confirmed !== 'boolean') failAnswer(id, 'has an answer without confirmed, which must be true or false');
  return { confirmed, ...(payload === undefined || payload === null ? {} : { payload }) };
}
