import type { BaseArtifactService, Platform } from '@eventloom/core';
import type { Expect } from './expect.ts';
import type { StillPlatform } from './still-platform.ts';

/** One rule of the contract as something that can be run: it rejects when the rule is broken. */
export interface ConformanceCase {
  /** Stable, `topic.rule`. */
  readonly id: string;
  /** What is promised, as a sentence. */
  readonly title: string;
  readonly run: () => Promise<void>;
}

/** A service with nothing in it that is not this case's own. */
export interface ArtifactServiceUnderTest {
  readonly service: BaseArtifactService;
  /** Called when the case is over, also when it failed. */
  close?(): Promise<void> | void;
}

/** Makes the service of one case. Its time is the platform's, which stands still until the case moves it. */
export type MakeArtifactService = (options: { readonly platform: Platform }) => Promise<ArtifactServiceUnderTest>;

/** What a case works with. */
export interface Subject {
  readonly service: BaseArtifactService;
  readonly platform: StillPlatform;
  readonly expect: Expect;
}

/** A case before it is bound to a service. */
export interface ArtifactRule {
  readonly id: string;
  readonly title: string;
  readonly check: (subject: Subject) => Promise<void>;
}
