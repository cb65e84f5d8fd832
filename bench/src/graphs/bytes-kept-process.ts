import { bytesKept } from './bytes-kept.ts';
import { GRAPH_WORKLOADS } from './graph-workloads.ts';

// Measures the memory that a workload leaves behind, in its own process, so that nothing else is in its heap. Takes the
// number of the workload and prints the result.

const workload = GRAPH_WORKLOADS[Number(process.argv[2])]?.();
if (!workload) throw new Error(`there is no graph ${process.argv[2]}`);
console.log(JSON.stringify(await bytesKept(workload.graph, workload.nodes)));
