/** OAuth 2 and OpenID Connect. */
export interface OAuth2Auth {
  clientId?: string;
  /** Secret. */
  clientSecret?: string;
  /** The page on which the user consents. */
  authUri?: string;
  state?: string;
  redirectUri?: string;
  /** Secret: where the user was sent back to, with the code in it. */
  authResponseUri?: string;
  /** Secret. */
  authCode?: string;
  /** Secret. */
  accessToken?: string;
  /** Secret. */
  refreshToken?: string;
  /** Secret. */
  codeVerifier?: string;
  /** Seconds since the epoch. */
  expiresAt?: number;
  /** Seconds. */
  expiresIn?: number;
  audience?: string;
}

/** What a tool authenticates with: a key, a token, a password. The ADK's model of it; further keys are kept. */
export interface AuthCredential {
  /** `apiKey`, `http`, `oauth2`, `openIdConnect`, `serviceAccount`. */
  authType: string;
  resourceRef?: string;
  /** Secret. */
  apiKey?: string;
  http?: {
    /** `basic`, `bearer`, … */
    scheme?: string;
    /** Secret. */
    credentials?: { username?: string; password?: string; token?: string };
    /** Secret. */
    additionalHeaders?: Record<string, string>;
  };
  /** Secret. */
  serviceAccount?: Record<string, unknown>;
  oauth2?: OAuth2Auth;
}

/** What a tool needs in order to authenticate. */
export interface AuthConfig {
  /** The OpenAPI security scheme, as JSON. It is public: the client is told it. */
  readonly authScheme: { readonly type: string; readonly [key: string]: unknown };
  /** What the app itself has, e.g. its OAuth client. The client is told what of it is not secret. */
  readonly rawAuthCredential?: AuthCredential | undefined;
  /** In a request: what of the exchange the client needs, e.g. `oauth2.authUri`. In an answer: the credential. */
  readonly exchangedAuthCredential?: AuthCredential | undefined;
  /** Under which the user's credential is kept: tools that name the same key share it. */
  readonly credentialKey: string;
}
