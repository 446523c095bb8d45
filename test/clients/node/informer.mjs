// An informer of @kubernetes/client-node for the ConfigMaps of a namespace. The README describes its input and output.
import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node';

const [kubeconfig, namespace] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const client = config.makeApiClient(CoreV1Api);
const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () => client.listNamespacedConfigMap({ namespace }));

const entry = ({ metadata }) => `${metadata.namespace}/${metadata.name} ${metadata.resourceVersion}`;
for (const event of ['add', 'update', 'delete']) {
  informer.on(event, (object) => console.log(event, entry(object)));
}
// The informer stops at every error. Its documentation asks the program to restart it.
let stopped;
informer.on('error', (error) => {
  stopped = true;
  console.error(error.message);
  setTimeout(start, 1000);
});
let synced = false;
async function start() {
  stopped = false;
  await informer.start();
  if (!stopped && !synced) {
    synced = true;
    console.log('synced', informer.list().length);
  }
}
await start();

const asked = createInterface({ input: process.stdin });
asked.on('line', () => {
  const entries = informer.list().map((object) => entry(object) + '\n').sort();
  console.log('state', createHash('sha256').update(entries.join('')).digest('hex'));
});
asked.on('close', () => process.exit(0));
