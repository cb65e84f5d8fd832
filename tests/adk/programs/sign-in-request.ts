import {
  type AuthConfig,
  AuthCredentialTypes,
  AuthHandler,
  BaseAgent,
  createEvent,
  type Event,
  type InvocationContext,
} from '@google/adk';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const authConfig: AuthConfig = {
  credentialKey: 'shop',
  authScheme: {
    type: 'oauth2',
    flows: {
      authorizationCode: {
        authorizationUrl: 'https://shop.example/authorize',
        tokenUrl: 'https://shop.example/token',
        scopes: { 'orders:read': 'Read orders' },
      },
    },
  },
  rawAuthCredential: {
    authType: AuthCredentialTypes.OAUTH2,
    oauth2: { clientId: 'shop-client', clientSecret: 'shop-secret' },
  },
};

/** An agent without a model that describes the request for signing in. */
class Doorman extends BaseAgent {
  protected override async *runAsyncImpl({ invocationId }: InvocationContext): AsyncGenerator<Event, void, void> {
    const request = new AuthHandler(authConfig).generateAuthRequest();
    const url = new URL(request.exchangedAuthCredential?.oauth2?.authUri ?? '');
    const text = JSON.stringify({
      endpoint: `${url.origin}${url.pathname}`,
      parameters: [...url.searchParams.keys()].toSorted(),
      scope: url.searchParams.get('scope'),
      copied: request.exchangedAuthCredential !== authConfig.rawAuthCredential,
    });
    yield createEvent({ invocationId, author: this.name, content: { role: 'model', parts: [{ text }] } });
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
}

const program: Program = {
  replies: [],
  main: (tell) => converse(tell, new Doorman({ name: 'doorman' }), ['May I come in?']),
};
export default program;
