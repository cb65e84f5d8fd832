import { InvalidRequestError, type RunConfig, type SessionKey } from '@eventloom/core';
import { Modality } from '@eventloom/core/internal';
import { checkNoRunConfig, checkParameters } from '@eventloom/core/wire';
import { checkId } from '@eventloom/server';

/** The parameters of a request for a live run. */
export interface LiveQuery {
  readonly key: SessionKey;
  readonly runConfig: RunConfig;
  readonly isAudioBinary: boolean;
  readonly answersPings: boolean;
  readonly sendsOwnMessages: boolean;
}

/** The path of the endpoint. */
export const LIVE_PATH = '/run_live';

/** The subprotocol that the server accepts. A client offers it beside another one that carries its token. */
export const LIVE_PROTOCOL = 'eventloom';

/** The names of the parameters and their descriptions. */
export const LIVE_PARAMETERS = {
  app_name: 'The app.',
  user_id: 'The user.',
  session_id: 'The session, which must exist unless the runner has `autoCreateSession`.',
  modalities: 'The kind of the answers of the model: AUDIO (default) or TEXT.',
  audio: '`binary`: audio comes as binary frames, before the event it belongs to. Default `base64`: in the event.',
  ping: '`text`: the client answers `{"ping": n}` with `{"pong": n}`.',
  own_messages:
    '`true`: texts and answers of the client come back as events once they are accepted. Default `false`, as in the ADK.',
  on_busy: 'Handling of a busy session: `queue` (default: wait, up to 5 seconds), `reject` or `interrupt`.',
  input_audio_transcription: '`true` (default): the speech of the user is sent as text too.',
  output_audio_transcription: '`true` (default): the speech of the model is sent as text too.',
  enable_session_resumption:
    '`true`: requests resumption handles, with which a new connection to the service continues the session of a lost one.',
  proactive_audio: '`true`: the model may choose not to answer.',
  proactivity: 'Another name of `proactive_audio`, which the bidi page of adk-go writes.',
  enable_affective_dialog: '`true`: the model adapts its answers to the tone of the user.',
  affective_dialog: 'Another name of `enable_affective_dialog`, which the bidi page of adk-go writes.',
  save_live_blob: '`true`: the audio of both sides is saved as artifacts.',
  explicit_vad_signal: 'Not supported: only `false` is accepted.',
} as const;

type ParameterName = keyof typeof LIVE_PARAMETERS;

function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}

const CAMEL_PARAMETERS: Readonly<Record<string, true>> = Object.fromEntries(
  Object.keys(LIVE_PARAMETERS).map((name) => [toCamelCase(name), true]),
);

/**
 * Parses the query of a request, each name in snake case or camel case. Refuses unknown names that resemble one of
 * these or an option of the run config, which only the server sets. Other unknown names are ignored.
 * @throws InvalidRequestError
 */
export function parseLiveQuery(query: URLSearchParams): LiveQuery {
  const given = Object.fromEntries(query);
  checkNoRunConfig(given, CAMEL_PARAMETERS);
  checkParameters(given, Object.keys(CAMEL_PARAMETERS));
  const key = {
    appName: required(query, 'app_name'),
    userId: required(query, 'user_id'),
    sessionId: required(query, 'session_id'),
  };
  checkId('user_id', key.userId);
  checkId('session_id', key.sessionId);
  if (flag(query, 'explicit_vad_signal')) {
    throw new InvalidRequestError('explicit_vad_signal: is not supported by this version; remove it');
  }
  const modality = choice(query, 'modalities', Object.values(Modality));
  const proactiveAudio = flag(query, 'proactive_audio') ?? flag(query, 'proactivity');
  return {
    key,
    isAudioBinary: choice(query, 'audio', ['base64', 'binary']) === 'binary',
    answersPings: choice(query, 'ping', ['text']) === 'text',
    sendsOwnMessages: flag(query, 'own_messages') === true,
    runConfig: {
      responseModalities: modality && [modality],
      proactivity: proactiveAudio === undefined ? undefined : { proactiveAudio },
      enableAffectiveDialog: flag(query, 'enable_affective_dialog') ?? flag(query, 'affective_dialog'),
      sessionResumption: flag(query, 'enable_session_resumption') ? {} : undefined,
      inputAudioTranscription: flag(query, 'input_audio_transcription') === false ? undefined : {},
      outputAudioTranscription: flag(query, 'output_audio_transcription') === false ? undefined : {},
      saveLiveBlob: flag(query, 'save_live_blob'),
      onBusy: choice(query, 'on_busy', ['queue', 'reject', 'interrupt']),
    },
  };
}

function valuesOf(query: URLSearchParams, name: ParameterName): string[] {
  const camelName = toCamelCase(name);
  return [...query.getAll(name), ...(camelName === name ? [] : query.getAll(camelName))];
}

function valueOf(query: URLSearchParams, name: ParameterName): string | undefined {
  const [value, second] = valuesOf(query, name);
  if (second !== undefined) throw new InvalidRequestError(`${name}: is given more than once; write one value`);
  return value;
}

function required(query: URLSearchParams, name: ParameterName): string {
  const value = valueOf(query, name);
  if (value === undefined) throw new InvalidRequestError(`${name}: is missing; write ?${name}=… in the address`);
  return value;
}

function choice<T extends string>(query: URLSearchParams, name: ParameterName, values: readonly T[]): T | undefined {
  const given = valueOf(query, name);
  if (given === undefined) return undefined;
  const known = values.find((value) => value === given);
  if (known !== undefined) return known;
  throw new InvalidRequestError(
    `${name}: expected one of ${values.join(', ')}, got ${JSON.stringify(given.slice(0, 40))}`,
  );
}

function flag(query: URLSearchParams, name: ParameterName): boolean | undefined {
  const given = choice(query, name, ['true', 'false']);
  return given === undefined ? undefined : given === 'true';
}
