export { AgentCall } from './agent-call.ts';
export type { AgentCallOptions, CallSnapshot } from './agent-call.ts';
export { AudioPlayer } from './audio-player.ts';
export { LiveCall } from './live-call.ts';
export type { LiveCallOptions } from './live-call.ts';
export { openMicrophone, RECORDER_SCRIPT } from './microphone.ts';
export type { Microphone, MicrophoneOptions } from './microphone.ts';
