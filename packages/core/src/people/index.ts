// How people are asked about tool calls, and what comes of their answers: for those who run tools, and seldom needed.

export { confirmationOf, refusalOf, personRequests } from './person-requests.ts';
