import type { Event } from '@google/adk';
import type { FakeGeminiStep } from '@eventloom/testing/fake-gemini';

/** Receives what a program yields and prints: events of its runs, and anything else as JSON. */
export type Tell = (said: Event | string | object | undefined) => void;

/** A program written for `@google/adk`, and the replies of the model that it is played with. */
export interface Program {
  readonly replies: readonly FakeGeminiStep[];
  readonly main: (tell: Tell) => Promise<void>;
}
