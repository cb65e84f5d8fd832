import { checkOptions, type Checks, ofType, record } from '../agent/options.ts';

/** The modality of the model's answers in a live run: speech or text. */
export const Modality = { TEXT: 'TEXT', AUDIO: 'AUDIO' } as const;
export type Modality = (typeof Modality)[keyof typeof Modality];

/** Options of live runs; other runs ignore them. Objects are those of the service and passed through. */
export interface LiveRunConfig {
  /** One of the two: live models answer in one modality. Default `['AUDIO']`. */
  readonly responseModalities?: readonly Modality[] | undefined;
  /** The voice and the language. */
  readonly speechConfig?: object | undefined;
  /** Turns what the user says to text. Default: on when agents can hand over, because the next one gets to read what was said. */
  readonly inputAudioTranscription?: object | undefined;
  /** Turns what the model says to text. Default as for the input. */
  readonly outputAudioTranscription?: object | undefined;
  /** Options of the service for detecting the user's speech. */
  readonly realtimeInputConfig?: object | undefined;
  /**
   * `{}`: asks for handles, by which lost connections go on where they were. They also come to the reader, as `liveSessionResumptionUpdate`. With
   * a `handle` in it the first connection of the run goes on with that one; agents that get the call later are told the history.
   */
  readonly sessionResumption?: object | undefined;
  /** Lets the service drop what is old, so that a session is not ended for its length. */
  readonly contextWindowCompression?: object | undefined;
  readonly proactivity?: object | undefined;
  readonly enableAffectiveDialog?: boolean | undefined;
  /**
   * Saves the audio of both sides as artifacts, WAV where it is raw, and stores events that refer to them: the model's when it is cut
   * off or has said all, the user's when the turn is complete. What cannot be saved is told by an event with the code `AUDIO_NOT_SAVED`. Needs an
   * artifact service. Default false.
   */
  readonly saveLiveBlob?: boolean | undefined;
  /** True re-establishes a connection that ends. Default true. */
  readonly liveReconnect?: boolean | undefined;
}

const isBoolean = /* @__PURE__ */ ofType('boolean');

/** The options of live runs. Other runs know their names and ignore their values. */
export const LIVE_CHECKS: Checks<LiveRunConfig> = {
  responseModalities: modalities,
  speechConfig: record,
  inputAudioTranscription: record,
  outputAudioTranscription: record,
  realtimeInputConfig: record,
  sessionResumption: record,
  contextWindowCompression: record,
  proactivity: record,
  enableAffectiveDialog: isBoolean,
  saveLiveBlob: isBoolean,
  liveReconnect: isBoolean,
};

/** Checks the values of the options that only live runs use. @throws ConfigurationError */
export function checkLiveRunConfig(config: LiveRunConfig): void {
  const given = Object.entries(config).filter(([option]) => Object.hasOwn(LIVE_CHECKS, option));
  checkOptions('runConfig', LIVE_CHECKS, Object.fromEntries(given));
}

function modalities(value: unknown): string | undefined {
  const [only] = Array.isArray(value) ? value : [];
  const isOne = Array.isArray(value) && value.length === 1 && Object.values(Modality).includes(only);
  return isOne ? undefined : "['AUDIO'] or ['TEXT'], one of them";
}
