// Test doubles for models, clocks and random values. They run on every runtime of agents.

// Scripted models
export type {
  ScriptedResult,
  ScriptedCall,
  ScriptedFunction,
  ScriptedReply,
  ScriptedStep,
} from './scripted-model/scripted-step.ts';
export type { RequestExpectation } from './scripted-model/request-expectation.ts';
export type { RecordedModelCall, ScriptedModelOptions } from './scripted-model/scripted-model.ts';
export { ScriptedModel } from './scripted-model/scripted-model.ts';

// Contexts, events and clocks
export { Gate } from './gate.ts';

// Scripted live models
export type {
  LiveSent,
  LiveSentKind,
  LiveSentMatcher,
  LiveCue,
  LiveEnd,
  ScriptedLiveConnectionScript,
  ScriptedLiveFactory,
  ScriptedLiveFunction,
  ScriptedLiveScript,
  ScriptedLiveStep,
} from './scripted-live-model/scripted-live-step.ts';
export type { ScriptedLiveConnection } from './scripted-live-model/scripted-live-connection.ts';
export type { ScriptedLiveModelOptions } from './scripted-live-model/scripted-live-model.ts';
export { ScriptedLiveModel } from './scripted-live-model/scripted-live-model.ts';

// Contexts, events and clocks
export type { FixedPlatform, FixedPlatformOptions } from './fixed-platform.ts';
export { fixedPlatform } from './fixed-platform.ts';

export type { TestContextOptions } from './test-context.ts';
export { testContext } from './test-context.ts';

export type { EventExtras } from './event-builders.ts';
export { functionCallEvent, functionResponseEvent, modelEvent, userEvent } from './event-builders.ts';

// Errors
export { UnconsumedStepsError, UnexpectedModelCallError, UnmetExpectationError } from './errors.ts';
