/** Prints a token that is valid for an hour, like one from your login: `node --env-file=.dev.vars token.ts ann`. */
import { createHmac } from 'node:crypto';

const { JWT_SECRET = '' } = process.env;
if (JWT_SECRET === '') throw new TypeError('JWT_SECRET is not set: start with --env-file=.dev.vars');
const [, , sub = 'ann'] = process.argv;
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const exp = Math.floor(Date.now() / 1000) + 3600;
const text = `${encode({ alg: 'HS256' })}.${encode({ sub, iss: 'my-login', aud: 'my-agents', exp })}`;
console.log(`${text}.${createHmac('sha256', JWT_SECRET).update(text).digest('base64url')}`);
