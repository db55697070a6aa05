import { useEffect, useRef } from 'preact/hooks'
import { Copy } from './copy'
import { Back } from './decision'
import { cpu, dollars, many, memory, moment, monthly, percent, shortNames, shortZone, span } from './format'
import { to } from './route'
import { store } from './store'
import type { Launch, NodeDetail } from './types'
import { useAsk } from './use'

export function NodeView({ id }: { id: string }) {
  const { value: d, error, again } = useAsk<NodeDetail>(`api/node?id=${encodeURIComponent(id)}`)
  const asked = useRef(again)
  asked.current = again
  // asked for again when its row changes: what it shows beyond the row changes with it
  useEffect(() => {
    let seen = store.row(id)
    return store.eachFrame(() => {
      const now = store.row(id)
      if (now && now !== seen) asked.current()
      seen = now
    })
  }, [id])
  const gone = d && !store.row(id)
  return (
    <article class="detail">
      <Back view="waiting" name="Lists" />
      {error ? <p class="problem" role="alert">{gone ? 'It is gone.' : error}</p> : null}
      {d ? <Body d={d} /> : error ? null : <p class="empty">Reading the node…</p>}
    </article>
  )
}

function Body({ d }: { d: NodeDetail }) {
  const r = d.row
  return (
    <>
      <h2>{shortNames(r.n)}</h2>
      {shortNames(r.n) === r.n ? null : <p class="facts"><code>{r.n}</code></p>}
      <p class="facts">{r.t} <span class={`cap ${r.c}`}>{r.c}</span> in {r.z || 'no zone yet'} · {r.p ? <>NodePool <a href={to('pool', r.p)}>{r.p}</a></> : 'no NodePool'}</p>
      <p class="facts"><span class={`tag state ${r.s}`}>{r.s}</span> {r.w ?? ''}</p>
      <div class="sums">
        <div><b>{percent(r.u, r.uh)}</b><span>CPU of {cpu(r.uh)}</span></div>
        <div><b>{percent(r.m, r.mh)}</b><span>of {memory(r.mh)}</span></div>
        <div><b>{r.k}</b><span>{r.k === 1 ? 'pod' : 'pods'}</span></div>
        <div><b>{r.d > 0 ? dollars(r.d) : '–'}</b><span>per hour</span></div>
        <div><b>{r.d > 0 ? monthly(r.d) : '–'}</b><span>per month</span></div>
      </div>
      <p class="sentence">{shortNames(d.why)}</p>
      {d.birth ? <Came b={d.birth} /> : null}
      <dl class="pairs">
        {d.claim ? <><dt>Claim</dt><dd><code>{d.claim}</code>, {d.claimState}</dd></> : null}
        {d.instance ? <><dt>Instance</dt><dd><code>{d.instance}</code>{d.image ? <> of <code>{d.image}</code></> : null}</dd></> : null}
        {d.decision ? <><dt>Launched by</dt><dd>{store.known?.entries.some((e) => e.id === d.decision) ? <a href={to('decision', d.decision)}>decision {d.decision}</a> : <code>{d.decision}</code>}</dd></> : null}
        {d.command ? <><dt>Disrupted by</dt><dd><code>{d.command}</code></dd></> : null}
        {d.drift ? <><dt>Drifted</dt><dd>{d.drift}</dd></> : null}
        {d.taints.length > 0 ? <><dt>Taints</dt><dd>{d.taints.join(', ')}</dd></> : null}
        {d.conditions.length > 0 ? <><dt>Conditions</dt><dd>{d.conditions.join(', ')}</dd></> : null}
        {d.times.map((t) => <><dt key={t.what}>{t.what[0]!.toUpperCase() + t.what.slice(1)}</dt><dd>{moment(t.at)}, {span(store.now() - t.at)} ago</dd></>)}
      </dl>
      {d.stays.length > 0 ? <><h3>Why it stays</h3><ul class="plainlist">{d.stays.map((s) => <li key={s.message}><b>{s.code}</b>: {s.message}</li>)}</ul></> : null}
      <h3>With kubectl</h3>
      {r.id.startsWith('node/') || r.n !== r.id ? <Copy command={`kubectl describe node ${r.n}`} /> : null}
      {d.claim ? <Copy command={`kubectl describe nodeclaim ${d.claim}`} /> : null}
      <h3>{many(d.pods.length, 'pod')}</h3>
      <table class="pods">
        <thead><tr><th scope="col">Pod</th><th scope="col">CPU</th><th scope="col">Memory</th></tr></thead>
        <tbody>
          {d.pods.map((p) => (
            <tr key={p.name} class={p.daemon ? 'daemon' : ''}>
              <td title={p.owner}>{p.name}</td><td>{p.cpu > 0 ? cpu(p.cpu) : '–'}</td><td>{p.memory > 0 ? memory(p.memory) : '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

// Came is why the node was launched, and what else it might have been.
function Came({ b }: { b: Launch }) {
  const others = b.alternatives ?? []
  return (
    <details class="card">
      <summary data-item>
        <span class="title">Launched {b.for}</span>
        <span class="more">{many(b.acceptableTypes, 'type')} would have fit{b.rounds > 1 ? `; ${b.rounds} plans` : ''}{b.refused?.length ? `; ${b.refused.length} refused` : ''}</span>
      </summary>
      {others.length > 0 ? (
        <table class="pods">
          <thead><tr><th scope="col">Type</th><th scope="col">Offering</th><th scope="col">Now $/hour</th></tr></thead>
          <tbody>
            {others.map((o) => (
              <tr key={o.instanceType}><td>{o.chosen ? <b>{o.instanceType} (chosen)</b> : o.instanceType}</td><td>{o.capacityType ?? '–'} {shortZone(o.zone ?? '')}</td><td>{o.pricePerHour ? dollars(o.pricePerHour) : '–'}</td></tr>
            ))}
          </tbody>
        </table>
      ) : null}
      {b.refused?.length ? <ul class="plainlist">{b.refused.map((r) => <li key={r.offer + r.reason}><b>{r.reason}</b>: {r.offer}</li>)}</ul> : null}
    </details>
  )
}
