/**
 * Names that the code in pages and docstrings uses without declaring them, because they are the reader's own. This file is
 * compiled with that code and never runs.
 */
import type { MakeService } from '@eventloom/core/conformance';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import type { ClientSession, EventloomClient } from '@eventloom/client';
import type { AudioPlayer, LiveCall } from '@eventloom/client/live';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { InMemoryMemoryService } from '@eventloom/memory';
import { InMemorySessionService, type SessionDriver } from '@eventloom/sessions';
import type {
  BaseAgent,
  BaseLlm,
  BasePlugin,
  BaseSessionService,
  Content,
  Event,
  InvocationContext,
  Runner,
  SessionKey,
  ToolContext,
} from 'eventloom';

export declare const agent: BaseAgent;
export declare const apiKey: string;
export declare const appName: string;
export declare const call: LiveCall;
export declare const callId: string;
export declare const client: EventloomClient;
export declare const context: InvocationContext;
export declare const event: Event;
export declare const invocationId: string;
export declare const key: SessionKey;
export declare const model: BaseLlm;
export declare const newMessage: Content;
export declare const player: AudioPlayer;
export declare const plugin: BasePlugin;
export declare const rootAgent: BaseAgent;
export declare const runner: Runner;
export declare const session: ClientSession;
export declare const sessionId: string;
export declare const sessionService: BaseSessionService;
export declare const toolContext: ToolContext;
export declare const userId: string;

/** Draws the reader's page again. */
export declare function render(shown: object): void;
/** Shows an event on the reader's page. */
export declare function show(event: Event): void;
/** The test function of the reader's test runner. */
export declare function test(title: string, run: () => Promise<void>): void;

export declare class MyArtifactService extends InMemoryArtifactService {}
export declare class MyCredentialService extends InMemoryCredentialService {}
export declare class MyMemoryService extends InMemoryMemoryService {}
export declare class MySessionService extends InMemorySessionService {}
export declare const MySessionDriver: new (connectionString: string) => SessionDriver;
export declare const makeService: MakeService<never>;
