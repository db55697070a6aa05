import { useState } from 'preact/hooks'
import { clock, cpu, many, memory, number, shortNames, span } from './format'
import { matchesWaiting, type Filter } from './filter'
import { store, type Known } from './store'
import { to } from './route'
import type { PodWhy, PoolReason, Waiting } from './types'
import { useAsk } from './use'

const words: Record<Waiting['how'], string> = { unplaced: 'unschedulable', new: 'node launched next', node: 'node exists or in flight', next: 'planned next', other: 'not for capacity' }

export function WaitingList({ known, filter }: { known: Known | null; filter: Filter }) {
  if (!known) return <p class="empty">Reading the cluster…</p>
  const groups = known.waiting.filter((w) => matchesWaiting(filter, w))
  if (groups.length === 0) return <p class="empty">{known.waiting.length > 0 ? 'No pending pod matches the filter.' : 'No pending pods.'}</p>
  return (
    <>
      <div class="lead">
        <p>{many(known.totals.waiting, 'pod')} {known.totals.waiting === 1 ? 'waits' : 'wait'}, first those that nothing can hold.</p>
        <a class="button" href={to('plan')} title="What would be launched for them now (p)">Plan for them</a>
      </div>
      <ul class="cards">{groups.map((w) => <li key={w.key}><Group w={w} /></li>)}</ul>
    </>
  )
}

export function Group({ w }: { w: Waiting }) {
  const [open, setOpen] = useState(false)
  const first = w.names[0]
  const pod = first && (first.includes('/') ? first : `${w.workload.split('/')[0]}/${first}`)
  return (
    <details class={`card waiting ${w.how}`} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary data-item>
        <span class="title">{w.workload}</span>
        <span class="count">{number(w.pods)}×</span>
        <span class={`tag ${w.how === 'unplaced' ? 'bad' : w.how === 'next' || w.how === 'other' ? '' : 'good'}`}>{words[w.how]}</span>
        <span class="why">{w.code ? <b>{w.code}: </b> : null}{shortNames(w.why)}</span>
        {w.remedy ? <span class="remedy">{shortNames(w.remedy)}</span> : null}
      </summary>
      {w.cpu > 0 || w.memory > 0 || w.since > 0 ? (
        <p class="facts">
          {w.cpu > 0 || w.memory > 0 ? `each requests ${cpu(w.cpu)} CPU, ${memory(w.memory)}` : ''}
          {w.since > 0 ? ` · longest pending ${span(store.now() - w.since)}` : ''}
        </p>
      ) : null}
      <Reasons reasons={w.reasons} />
      {open && pod ? <Lately pod={pod} line={w.how !== 'unplaced'} /> : null}
      <p class="names">{w.names.join(', ')}{w.pods > w.names.length ? ` and ${number(w.pods - w.names.length)} more` : ''}</p>
    </details>
  )
}

// Lately is what is known of the first of the pods beyond the plan: what was decided about it.
function Lately({ pod, line }: { pod: string; line: boolean }) {
  const { value } = useAsk<PodWhy>(`api/pod?id=${encodeURIComponent(pod)}`)
  if (!value) return null
  return (
    <div class="lately">
      {line ? <p class="facts">{value.line}</p> : null}
      <ul class="plainlist">
        {value.events.map((e) => (
          <li key={e.at + e.text}><time>{clock(e.at)}</time> {e.text} {e.decision && store.known?.entries.some((k) => k.id === e.decision) ? <a href={to('decision', e.decision)}>Open</a> : null}</li>
        ))}
      </ul>
    </div>
  )
}

function Reasons({ reasons }: { reasons: PoolReason[] }) {
  if (reasons.length === 0) return null
  return (
    <ul class="reasons">
      {reasons.map((r) => (
        <li key={r.pools.join() + r.message}>
          <span class="pools">{r.pools.length > 0 ? r.pools.map((p, i) => <>{i > 0 ? ', ' : ''}<a key={p} href={to('pool', p)}>{p}</a></>) : 'every NodePool'}</span>
          <span><b>{r.code}</b>: {r.message}</span>
          {r.remedy ? <span class="remedy">{shortNames(r.remedy)}</span> : null}
        </li>
      ))}
    </ul>
  )
}
