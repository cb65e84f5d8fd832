import {
  BasePlugin,
  type CallbackContext,
  ConfigurationError,
  type Content,
  type Invocation,
  type InvocationContext,
  type Part,
} from '@eventloom/core';
import { checkOptions, type OptionRules, reportTo, sessionKeyOf, setOwn } from '@eventloom/core/internal';

/** Options of `SaveFilesAsArtifactsPlugin`. */
export interface SaveFilesAsArtifactsPluginOptions {
  /** Name of the plugin. Default `save_files_as_artifacts_plugin`. */
  readonly name?: string | undefined;
  /** True adds a reference to each saved file that models can read at its address (`gs:`, `https:` or `http:`). Default true. */
  readonly attachFileReference?: boolean | undefined;
}

const OPTIONS: OptionRules<SaveFilesAsArtifactsPluginOptions> = { name: 'text', attachFileReference: 'flag' };

/** Maximum size of a file that Gemini accepts inline, and therefore that a model can load: 20 MiB. */
const MAX_BYTES = 20 * 1024 * 1024;
const READABLE = /^(gs|https?):/i;

/**
 * Saves the files in messages of users as artifacts, and replaces each file by a note with its name: `[Uploaded Artifact: "a.pdf"]`. The
 * name is the `displayName` of the file, otherwise `artifact_<invocation>_<index>`; an artifact whose name begins with `user:` belongs to
 * all sessions of the user. The first event of the agent names the files in its `artifactDelta`. Give the agent `LOAD_ARTIFACTS`, so that
 * its model can read them.
 *
 * A file of more than 20 MiB is not saved, and the note says so. If a file cannot be saved or the runner has no artifact service, the error
 * is reported through `platform.background`, and the file stays in the message.
 */
export class SaveFilesAsArtifactsPlugin extends BasePlugin {
  readonly #attachFileReference: boolean;
  /** Saved versions that are not in the `artifactDelta` of an event yet. */
  readonly #saved = new WeakMap<Invocation, Record<string, number>>();

  /** @throws ConfigurationError for an unknown option */
  constructor(options: SaveFilesAsArtifactsPluginOptions = {}) {
    checkOptions('SaveFilesAsArtifactsPlugin', OPTIONS, options);
    super(options.name ?? 'save_files_as_artifacts_plugin');
    this.#attachFileReference = options.attachFileReference ?? true;
  }

  override async onUserMessageCallback({
    invocationContext,
    userMessage,
  }: {
    invocationContext: InvocationContext;
    userMessage: Content;
  }): Promise<Content | undefined> {
    const { parts = [] } = userMessage;
    if (!parts.some(({ inlineData }) => inlineData)) return undefined;
    if (!invocationContext.artifactService) {
      const reason = `${this.name}: the runner has no artifactService; write artifactService: new InMemoryArtifactService() in its options`;
      reportTo(invocationContext.platform, new ConfigurationError(reason));
      return undefined;
    }
    const saved: Part[] = [];
    for (const [index, part] of parts.entries())
      saved.push(...(part.inlineData ? await this.#save(invocationContext, part, index) : [part]));
    return { ...userMessage, parts: saved };
  }

  /** Names the saved files in the first event. */
  override beforeAgentCallback({ callbackContext }: { callbackContext: CallbackContext }): undefined {
    const { invocation } = callbackContext.invocationContext;
    const saved = this.#saved.get(invocation);
    if (!saved) return;
    this.#saved.delete(invocation);
    for (const [name, version] of Object.entries(saved)) setOwn(callbackContext.actions.artifactDelta, name, version);
  }

  /** Returns the parts that replace a file. */
  async #save(context: InvocationContext, part: Part, index: number): Promise<Part[]> {
    const { artifactService: service, platform, session, invocation, invocationId } = context;
    const { data = '', displayName, mimeType } = part.inlineData ?? {};
    const filename = displayName || `artifact_${invocationId}_${index}`;
    const size = Math.floor((data.length * 3) / 4);
    if (size > MAX_BYTES) {
      const megabytes = (size / 1024 / 1024).toFixed(1);
      return [{ text: `[Upload Error: ${filename} has ${megabytes} MB; at most 20 MB can be uploaded.]` }];
    }
    const key = { ...sessionKeyOf(session), filename };
    try {
      const version = (await service?.saveArtifact({ ...key, artifact: part })) ?? 0;
      const known = this.#saved.get(invocation) ?? {};
      setOwn(known, filename, version);
      this.#saved.set(invocation, known);
      const note = { text: `[Uploaded Artifact: "${filename}"]` };
      if (!this.#attachFileReference) return [note];
      const { canonicalUri: fileUri = '' } = (await service?.getArtifactVersion({ ...key, version })) ?? {};
      if (!READABLE.test(fileUri)) return [note];
      return [note, { fileData: { fileUri, displayName: filename, ...(mimeType !== undefined && { mimeType }) } }];
    } catch (error) {
      reportTo(platform, error);
      return [part];
    }
  }
}
