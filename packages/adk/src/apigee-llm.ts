import type { BaseLlmConnection, LlmResponse, ModelCapabilities } from '@eventloom/core';
import { ConfigurationError } from '@eventloom/core';
import { readVariable } from '#runtime';
import { requireOptions } from './check-arguments.ts';
import { AdkGemini, type AdkLlmRequest, type GeminiParams, geminiInitParams } from './gemini.ts';

/** Parameters of an `ApigeeLlm`: those of a `Gemini`, with a name that begins with `apigee/`. */
export interface ApigeeLlmParams extends Omit<GeminiParams, 'model' | 'baseUrl' | 'client'> {
  /** `apigee/[gemini/|vertex_ai/][v1beta/]gemini-flash-latest`. */
  readonly model: string;
  /** URL of the Apigee proxy. Default: the environment variable `APIGEE_PROXY_URL`, on Node. */
  readonly proxyUrl?: string | undefined;
}

const NAME = /^apigee\/(?:(?<service>gemini|vertex_ai)\/)?(?:(?<version>v[^/]*)\/)?(?<id>[^/]+)$/;

/**
 * A Gemini model behind an Apigee proxy. Without a key, the proxy adds its own.
 *
 * @example
 * const model = new ApigeeLlm({ model: 'apigee/gemini-flash-latest', proxyUrl: 'https://apigee.example' });
 */
export class ApigeeLlm extends AdkGemini {
  static override readonly supportedModels: readonly (string | RegExp)[] = [/apigee\/.*/];

  /** @throws ConfigurationError for a name that is not one of Apigee, and without the URL of the proxy */
  constructor(given: ApigeeLlmParams) {
    requireOptions('ApigeeLlm', given, "new ApigeeLlm({ model: 'apigee/gemini-flash-latest', proxyUrl })");
    const { proxyUrl, ...params } = given;
    const { service, version } = partsOf(params.model);
    const baseUrl = proxyUrl || readVariable('APIGEE_PROXY_URL');
    if (!baseUrl)
      throw new ConfigurationError(
        'ApigeeLlm: proxyUrl is missing; write new ApigeeLlm({ model, proxyUrl }), or set APIGEE_PROXY_URL',
      );
    const vertexai = params.vertexai === true || service === 'vertex_ai';
    const { apiKey, ...settings } = geminiInitParams({ ...params, vertexai });
    super({
      ...params,
      ...settings,
      model: params.model,
      baseUrl,
      apiVersion: params.apiVersion ?? version,
      apiKey: apiKey ?? (settings.vertexai ? undefined : '-'),
    });
  }

  override capabilities(model: string = this.model): ModelCapabilities {
    return super.capabilities(idOf(model));
  }

  override generateContentAsync(
    request: AdkLlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    return super.generateContentAsync({ ...request, model: idOf(request.model ?? this.model) }, stream, abortSignal);
  }

  override connect(...[request, abortSignal]: Parameters<AdkGemini['connect']>): Promise<BaseLlmConnection> {
    return super.connect({ ...request, model: idOf(request.model ?? this.model) }, abortSignal);
  }
}

interface NameParts {
  readonly service?: string | undefined;
  readonly version?: string | undefined;
  readonly id: string;
}

function partsOf(model: string): NameParts {
  const { service, version, id } = NAME.exec(model)?.groups ?? {};
  if (id === undefined)
    throw new ConfigurationError(
      `ApigeeLlm: model: expected apigee/[gemini/|vertex_ai/][version/]model, got ${JSON.stringify(model)}; write 'apigee/gemini-flash-latest'`,
    );
  return { service, version, id };
}

function idOf(model: string): string {
  return model.startsWith('apigee/') ? partsOf(model).id : model;
}
