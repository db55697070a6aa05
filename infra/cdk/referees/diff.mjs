// What an installation loses by an upgrade, as JSON: node diff.mjs BEFORE AFTER, folders of templates. Resources that CloudFormation would
// replace, may replace or would delete are findings; judged are the resources of templates that both folders have.
import { readFileSync, readdirSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fullDiff } from '@aws-cdk/cloudformation-diff';

const [before, after] = process.argv.slice(2);
const harmless = ['WILL_CREATE', 'WILL_UPDATE', 'NO_CHANGE'];
const read = (folder, name) => JSON.parse(readFileSync(join(folder, name)));
let judged = 0;
const findings = [];
for (const name of readdirSync(before).filter((name) => name.endsWith('.json')).sort()) {
  const template = name.slice(0, -'.json'.length);
  if (!existsSync(join(after, name))) {
    findings.push({ template, resource: '*', rule: 'GONE', text: 'the template is not there any more' });
    continue;
  }
  const old = read(before, name);
  judged += Object.keys(old.Resources).length;
  fullDiff(old, read(after, name)).resources.forEachDifference((id, change) => {
    if (harmless.includes(change.changeImpact)) return;
    const properties = Object.entries(change.propertyUpdates ?? {}).filter(([, p]) => p.isDifferent && !harmless.includes(p.changeImpact)).map(([key]) => key);
    findings.push({ template, resource: id, rule: change.changeImpact, text: [change.resourceType, ...properties].join(' ') });
  });
}
process.stdout.write(JSON.stringify({ judged, findings }));
