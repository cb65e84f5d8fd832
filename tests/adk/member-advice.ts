/** Members of `@google/adk` that Eventloom does not have, and what a program writes in their place. */
export interface MemberAdvice {
  readonly members: readonly string[];
  /** The names of those that have other members of these names, which other advice is for. Default: all names but those of other advice. */
  readonly of?: readonly string[];
  readonly instead: string;
}

/** The first advice for a member counts. */
export const memberAdvice: readonly MemberAdvice[] = [
  {
    of: ['RemoteA2AAgent'],
    members: ['clone'],
    instead: 'create each agent with new RemoteA2AAgent',
  },
  {
    of: ['RoutedAgentConfig'],
    members: ['subAgents'],
    instead: 'write agents',
  },
  {
    of: ['LoopAgentConfig', 'RemoteA2AAgentConfig', 'RoutedAgentConfig'],
    members: ['waitForOutput'],
    instead: 'leave it out: only a task agent waits for more input',
  },
  {
    of: ['LoopAgentConfig', 'RemoteA2AAgentConfig', 'RoutedAgentConfig'],
    members: ['timeout'],
    instead: 'write node(agent, { timeout }) in the edges of the workflow',
  },
  {
    of: ['LoopAgentConfig', 'RemoteA2AAgentConfig', 'RoutedAgentConfig'],
    members: ['retryConfig', 'rerunOnResume'],
    instead: 'write node(agent, { retryConfig, rerunOnResume }) in the edges of the workflow',
  },
  {
    of: ['LoopAgentConfig', 'RemoteA2AAgentConfig', 'RoutedAgentConfig'],
    members: ['inputSchema', 'outputSchema'],
    instead: 'write node(agent, { inputSchema, outputSchema }) in the edges of the workflow',
  },
  {
    of: ['LoopAgentConfig', 'RemoteA2AAgentConfig', 'RoutedAgentConfig'],
    members: ['isolationScope', 'stateSchema'],
    instead: 'write node(agent, { isolationScope, stateSchema }) in the edges of the workflow',
  },
  {
    members: ['parentAgent'],
    instead: 'write the agent into the subAgents of its parent',
  },
  {
    of: [
      'Agent',
      'BaseAgent',
      'LlmAgent',
      'LoopAgent',
      'ParallelAgent',
      'RemoteA2AAgent',
      'RoutedAgent',
      'RunnableRoot',
      'SequentialAgent',
    ],
    members: [
      'isolationScope',
      'outputSchema',
      'preparedRetryConfig',
      'requiresAllPredecessors',
      'rerunOnResume',
      'retryConfig',
      'run',
      'stateSchema',
      'timeout',
      'waitForOutput',
    ],
    instead: 'read them of node(agent)',
  },
  {
    members: ['runLive'],
    instead: 'write yield* agent.runAsync(context), which runs live in a live run',
  },
  {
    members: ['includeContentsExplicit'],
    instead: 'read seesConversation, which is true if includeContents is written as default',
  },
  {
    members: ['inputSchemaSource', 'outputSchemaSource'],
    instead: 'read inputSchema and outputSchema, which are as the program gave them',
  },
  {
    members: ['afterNodeCallback', 'beforeNodeCallback'],
    instead: 'write a plugin of its own that extends BasePlugin',
  },
  {
    members: [
      'afterContextCompaction',
      'beforeContextCompaction',
      'runAfterContextCompaction',
      'runBeforeContextCompaction',
    ],
    instead: 'write eventsCompaction with a summarizer of your own',
  },
  {
    members: ['apiVariant'],
    instead: 'read apiBackend of the Gemini model',
  },
  {
    members: ['checkRequireConfirmation'],
    instead: 'write requireConfirmation in the options of the tool: the runtime asks',
  },
  {
    of: ['SkillToolset'],
    members: ['additionalTools', 'codeExecutor', 'getOrFetchSkill', 'getScriptOutputDir', 'registry'],
    instead: 'keep what was given to the constructor; loadSkillFromDir reads a skill',
  },
  {
    members: ['processLlmRequest'],
    instead: 'write processLlmRequest in a tool of the toolset',
  },
  {
    members: ['optimizeDataFile'],
    instead: 'save the file as an artifact, and read it in a tool',
  },
  {
    members: ['args'],
    instead: 'write the values into the code',
  },
  {
    members: ['contentEncoding'],
    instead: 'decode the content as base64; executeCode of UnsafeLocalCodeExecutor takes contentEncoding',
  },
  {
    members: ['maybeAppendUserContent'],
    instead: 'leave it out: these models add the message themselves; BaseLlm has it for models of the program',
  },
  {
    members: ['apiClient', 'liveApiClient', 'liveApiVersion'],
    instead: 'write new GoogleGenAI({ apiKey }) of @google/genai for other calls of the service',
  },
  {
    members: ['goAway', 'interactionId', 'liveSessionId'],
    instead: 'leave them out: a live run connects again by itself, and nothing is kept at the service',
  },
  {
    members: ['allowedTools', 'previousInteractionId'],
    instead: 'write beforeToolSelection in a plugin to hide tools; each request has the whole conversation',
  },
  {
    of: ['InvocationContext'],
    members: ['clone'],
    instead: 'write yield* agent.runAsync(context), which creates the context of the other agent',
  },
  {
    members: ['pluginManager'],
    instead: 'read pluginManager of the Runner',
  },
  {
    members: [
      'activeStreamingTools',
      'channel',
      'eventQueue',
      'liveSessionResumptionHandle',
      'nodeToolDepth',
      'outputForAncestors',
      'overrideNodePath',
      'remoteDelivered',
      'scheduler',
      'transcriptionCache',
      'workflowInstructionScope',
    ],
    instead: 'leave them out: they are internal to the ADK',
  },
  {
    members: ['offset', 'order', 'page'],
    instead: 'write limit and cursor, and read nextCursor',
  },
  {
    members: ['idToken', 'nonce', 'tokenEndpointAuthMethod'],
    instead: 'write an exchanger of your own, and keep them in it',
  },
  {
    members: ['parameters', 'returnValue'],
    instead: 'read them of the document that the program gave',
  },
  {
    members: ['default', 'description', 'nullable', 'required'],
    instead: 'ask of which kind the schema is: a schema of zod has other members than a JSON Schema',
  },
  {
    members: ['schema', 'validateDelta'],
    instead: 'write stateSchema in the options of a node',
  },
];
