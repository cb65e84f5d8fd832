import { bytesKept } from './bytes-kept.ts';
import { GRAPH_WORKLOADS } from './graph-workloads.ts';

// What a workload leaves in memory. A program of its own, so that nothing else is in its heap. Takes the number of the workload and prints
// what came out.

const workload = GRAPH_WORKLOADS[Number(process.argv[2])]?.();
if (!workload) throw new Error(`there is no graph ${process.argv[2]}`);
console.log(JSON.stringify(await bytesKept(workload.graph, workload.nodes)));
