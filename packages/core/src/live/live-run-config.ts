import { checkOptions, type OptionRules } from '../agent/options.ts';
import { ConfigurationError } from '../errors.ts';

/** The modality of the model's answers in a live run: speech or text. */
export const Modality = { TEXT: 'TEXT', AUDIO: 'AUDIO' } as const;
export type Modality = (typeof Modality)[keyof typeof Modality];

/** Options of live runs; other runs ignore them. Objects are passed to the model's service unchanged, which checks their
 * fields; those of `sessionResumption` are checked at the start of the run. Undefined: the service's default. */
export interface LiveRunConfig {
  /** Modality of the answers: `['AUDIO']` or `['TEXT']`, not both. Default `['AUDIO']`. */
  readonly responseModalities?: readonly Modality[] | undefined;
  /** The voice and the language of the model's speech. */
  readonly speechConfig?: object | undefined;
  /** Transcribes the user's speech. Default: on if agents can transfer to each other, because the next agent reads the transcription. */
  readonly inputAudioTranscription?: object | undefined;
  /** Transcribes the model's speech. Default: as for `inputAudioTranscription`. */
  readonly outputAudioTranscription?: object | undefined;
  /** Options of the service for detecting the user's speech. */
  readonly realtimeInputConfig?: object | undefined;
  /**
   * `{}` requests handles, with which a new connection resumes a lost one. The reader of the run gets them as
   * `liveSessionResumptionUpdate`. With `handle`, the first connection of the run resumes that session; agents that take over later
   * get the history instead. Default: no handles.
   */
  readonly sessionResumption?: object | undefined;
  /** Lets the service drop old content, so that it does not end a session for its length. */
  readonly contextWindowCompression?: object | undefined;
  /** `{ proactiveAudio: true }` lets the model ignore input that is not addressed to it, for models that can. */
  readonly proactivity?: object | undefined;
  /** True lets the model adapt its tone to the user's, for models that can. */
  readonly enableAffectiveDialog?: boolean | undefined;
  /**
   * True saves the audio of both sides as artifacts, raw audio as WAV, and stores events that refer to them: the model's after its
   * reply is complete or interrupted, the user's after the turn is complete. An event with the code `AUDIO_NOT_SAVED` reports audio
   * that cannot be saved. Needs an artifact service. Default false.
   */
  readonly saveLiveBlob?: boolean | undefined;
  /**
   * True stores the model's audio in the session, in the events that contain it. A session with much audio is large: `saveLiveBlob` stores
   * the audio as artifacts instead. Default false.
   */
  readonly saveLiveModelAudioToSession?: boolean | undefined;
  /** True opens a new connection when one ends. Default true. */
  readonly liveReconnect?: boolean | undefined;
}

/** The options of live runs. Other runs know their names and ignore their values. */
export const LIVE_OPTIONS: OptionRules<LiveRunConfig> = {
  responseModalities: { is: 'list', wanted: 'a list of one, AUDIO or TEXT', write: "['AUDIO']" },
  speechConfig: 'object',
  inputAudioTranscription: { is: 'object', write: '{}' },
  outputAudioTranscription: { is: 'object', write: '{}' },
  realtimeInputConfig: 'object',
  sessionResumption: { is: 'object', write: '{}' },
  contextWindowCompression: 'object',
  proactivity: 'object',
  enableAffectiveDialog: 'flag',
  saveLiveBlob: 'flag',
  saveLiveModelAudioToSession: 'flag',
  liveReconnect: 'flag',
};

/** The fields of `sessionResumption`. A handle of another kind would begin a new session of the service without an error. */
const RESUMPTION: OptionRules<{ readonly handle?: string; readonly transparent?: boolean }> = {
  handle: 'text',
  transparent: 'flag',
};

/** Checks the values of the options that only live runs use. @throws ConfigurationError */
export function checkLiveRunConfig(config: LiveRunConfig): void {
  const given = Object.entries(config).filter(([option]) => Object.hasOwn(LIVE_OPTIONS, option));
  checkOptions('runConfig', LIVE_OPTIONS, Object.fromEntries(given));
  const { responseModalities, sessionResumption } = config;
  if (sessionResumption) checkOptions('runConfig.sessionResumption', RESUMPTION, sessionResumption);
  if (responseModalities !== undefined && !isOneModality(responseModalities))
    throw new ConfigurationError(
      `runConfig: responseModalities: expected a list of one, AUDIO or TEXT, got ${JSON.stringify(responseModalities)}; write responseModalities: ['AUDIO']`,
    );
}

function isOneModality(value: unknown): boolean {
  const [only] = Array.isArray(value) ? value : [];
  return Array.isArray(value) && value.length === 1 && Object.values(Modality).includes(only);
}
