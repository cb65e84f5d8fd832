import type { Event } from '@google/adk';
import type { FakeGeminiStep } from '@eventloom/testing/fake-gemini';

/** Receives the events that a program's runs yield and the values that it prints, as JSON. */
export type Tell = (said: Event | string | object | undefined) => void;

/** A program written for `@google/adk`, and the scripted replies of its model. */
export interface Program {
  readonly replies: readonly FakeGeminiStep[];
  readonly main: (tell: Tell) => Promise<void>;
}
