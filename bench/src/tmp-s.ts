import { InMemorySessionService } from '@eventloom/sessions';
import { systemPlatform } from '@eventloom/core';
import { createFloorSession, floorTurn } from './floor.ts';
import { InstantModel, ToolCallingModel, ChunkModel } from './models.ts';
import { APP as A, createRunner, turn, drain, MESSAGE, floorTools } from './setup.ts';
const APP={appName:'bench',userId:'u'};
const sessions = new InMemorySessionService();
const mk=()=>({id:systemPlatform.newEventId(), invocationId:'e-1', author:'u', timestamp:Date.now()/1000, content:{role:'user',parts:[{text:'x'}]}, actions:{stateDelta:{},artifactDelta:{}}});
async function one(i:number){ const sessionId='s'+i; await sessions.createSession({...APP,sessionId}); const lease=await sessions.acquireLease({...APP,sessionId}); const s=await sessions.getSession({...APP,sessionId}); await sessions.appendEvent({session:s!,event:mk(),lease}); await sessions.appendEvent({session:s!,event:mk(),lease}); await sessions.releaseLease(lease); await sessions.deleteSession({...APP,sessionId}); }
async function t(name:string, f:(i:number)=>Promise<unknown>, n:number, per=1){ const xs:number[]=[]; for(let r=0;r<9;r++){ const c=process.cpuUsage(); for(let i=0;i<n;i++) await f(i); const u=process.cpuUsage(c); xs.push((u.user+u.system)/n/per);} xs.sort((a,b)=>a-b); console.log(name.padEnd(20), xs[0]!.toFixed(2), xs[4]!.toFixed(2),'µs cpu'); }
const which = process.argv[2] ?? 'all';
if (which==='all'||which==='sessions') await t('sessions', one, 30000);
const runner=createRunner(new InstantModel(), sessions);
if (which==='all'||which==='text') await t('text turn', async i=>{const sessionId='t'+i; await sessions.createSession({...APP,sessionId}); await turn(runner,sessionId); await sessions.deleteSession({...APP,sessionId});}, 30000);
if (which==='all'||which==='floor') await t('text floor', async i=>{ await drain(floorTurn(createFloorSession('f'+i), new InstantModel(), MESSAGE)); }, 30000);
const r2=createRunner(new ToolCallingModel(10), sessions);
if (which==='all'||which==='tools') await t('10 tools', async i=>{const sessionId='t'+i; await sessions.createSession({...APP,sessionId}); await turn(r2,sessionId); await sessions.deleteSession({...APP,sessionId});}, 3000);
if (which==='all'||which==='tools') await t('10 tools floor', async i=>{ await drain(floorTurn(createFloorSession('f'+i), new ToolCallingModel(10), MESSAGE, {tools: floorTools})); }, 3000);
const r3=createRunner(new ChunkModel(2000), sessions);
if (which==='all'||which==='chunks') await t('chunk', async i=>{const sessionId='t'+i; await sessions.createSession({...APP,sessionId}); await turn(r3,sessionId,{streamingMode:'sse'}); await sessions.deleteSession({...APP,sessionId});}, 20, 2000);
if (which==='all'||which==='chunks') await t('chunk floor', async i=>{ await drain(floorTurn(createFloorSession('f'+i), new ChunkModel(2000), MESSAGE, {stream:true})); }, 20, 2000);
