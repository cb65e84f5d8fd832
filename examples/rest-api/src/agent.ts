import { OpenAPIToolset } from '@eventloom/openapi';
import { type BaseLlm, LlmAgent } from 'eventloom';

/** Creates an agent whose tools are the operations of the API at this address. */
export async function createClerk(url: string, model: string | BaseLlm): Promise<LlmAgent> {
  const specDict = await (await fetch(`${url}/openapi.json`)).json();
  const warehouse = new OpenAPIToolset({
    specDict,
    baseUrl: url,
    authCredential: { authType: 'apiKey', apiKey: 'warehouse-key' },
    // The API is on this machine, which toolsets may not reach by default.
    allowPrivateNetworkAccess: true,
    requireConfirmation: ({ operation }) => operation.method !== 'GET',
  });
  return new LlmAgent({
    name: 'clerk',
    model,
    instruction: 'Answer questions about the stock. Order what is missing.',
    tools: [warehouse],
  });
}
